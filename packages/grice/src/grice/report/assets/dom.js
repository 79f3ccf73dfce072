// Building nodes, and numbers for readers. Judged text reaches the page as text nodes and
// through title, never as markup and never in an address.

const $ = (id) => document.getElementById(id);

function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'data') Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

const count = (value) => value.toLocaleString('en');

const plural = (value, noun) => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

function number(value, places) {
  if (typeof value !== 'number') return '–';
  const text = value.toLocaleString('en', {
    minimumFractionDigits: places, maximumFractionDigits: places,
  });
  return (/[1-9]/.test(text) ? text : text.replace('-', '')).replace('-', '\u2212');
}

const signed = (value, places) => (value > 0 ? '+' : '') + number(value, places);

// A number of unknown scale: about three digits.
function loose(value) {
  if (typeof value !== 'number') return '–';
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e9)) return value.toExponential(2).replace('-', '\u2212');
  return number(value, Number.isInteger(value) ? 0 : size < 1 ? 3 : size < 100 ? 2 : 1);
}

// A bar from 0 to `share` of its length; a share below 0 grows to the left of the middle.
function bar(share, kind = 'bar') {
  const fill = el('i');
  const size = Math.min(Math.abs(share), 1) * 100;
  if (kind === 'bar') {
    fill.style.width = `${share > 0 ? size : 0}%`;
  } else {
    fill.style.width = `${size / 2}%`;
    fill.style.left = share < 0 ? `${50 - size / 2}%` : '50%';
    fill.className = share < 0 ? 'minus' : 'plus';
  }
  return el('span', { class: kind, 'aria-hidden': 'true' }, fill);
}

// Positions count Unicode code points, as Python does; a string here counts UTF-16 units.
// Returns a function that turns the one into the other.
function unitsOf(text) {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return (position) => Math.min(position, text.length);
  const starts = [];
  for (let i = 0; i < text.length; i += text.codePointAt(i) > 0xffff ? 2 : 1) starts.push(i);
  return (position) => (position < starts.length ? starts[position] : text.length);
}

// The front of a text, at most `length` units of it: cut behind a word, as grice.errors.excerpt does,
// and where a word is longer than half of that, at least without parting a surrogate pair.
function head(text, length) {
  if (text.length <= length) return text;
  const ends = text.slice(0, length + 1).match(/^[\s\S]*\S(?=\s)/)?.[0].length ?? 0;
  if (ends > length / 2) return text.slice(0, ends);
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

// The front of a text on one line as a person reads it; the whole is where the line leads to.
function excerpt(text, length) {
  // Of a long turn no more is read than can be shown; its marks may double it.
  const line = asRead(head(text, 20 * length));
  const start = head(line, length);
  return start.length < line.length ? `${start.replace(/[,;:.]+$/, '')}…` : start;
}

const codePoints = (text) => {
  let found = text.length;
  for (let i = 0; i < text.length; i++) if (text.codePointAt(i) > 0xffff) { found--; i++; }
  return found;
};
