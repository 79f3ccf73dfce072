// Markdown for the eye: strong, emphasis, code, headings, lists, quotes; a link is its words with
// the address behind them, as text. Libraries that read Markdown give HTML, which never enters this
// page, and lose where in the text a word stands, which the marks of evidence need. What is read
// here in another way than elsewhere is one click away as it was written.

// What stands in a group is shown, what stands around it is not. Code comes first: in it, nothing else counts.
const INLINE = new RegExp([
  /(?<!`)(?<tick>`+)(?!`)(?<code>[^\n]{0,1000}?[^`\n])\k<tick>(?!`)/,
  /!?\[(?<words>[^[\]\n]{1,500})\]\((?<address>(?:[^()\s]|\([^()\s]{0,200}\)){0,2000})\)/,
  /\*\*(?=\S)(?<strong>[^\n]{0,1000}?\S)\*\*(?!\*)/,
  /(?<!\w)__(?=\S)(?<strong2>[^\n]{0,1000}?\S)__(?!\w)/,
  /~~(?=\S)(?<s>[^\n]{0,1000}?\S)~~/,
  /(?<![\w*])\*(?![\s*])(?<em>[^*\n]{0,1000}?[^\s*])\*(?![\w*])/,
  /(?<!\w)_(?![\s_])(?<em2>[^_\n]{0,1000}?[^\s_])_(?!\w)/,
].map((part) => part.source).join('|'), 'gd');
const STYLES = {
  code: 'code', strong: 'strong', strong2: 'strong', s: 's', em: 'em', em2: 'em', words: '.link', address: '.address',
};
const DEEPEST_STYLE = 4;

// The stretches of text[from..to] that show, each with its styles: { from, to, styles }.
function inline(text, from, to, styles = []) {
  const pieces = [];
  const add = (start, end, more = []) => {
    if (end > start) pieces.push({ from: start, to: end, styles: [...styles, ...more] });
  };
  let place = from;
  // A match may look at what stands before it, so the text is not cut to the stretch.
  INLINE.lastIndex = from;
  for (let match = INLINE.exec(text); match && match.index < to; match = INLINE.exec(text)) {
    const end = INLINE.lastIndex;
    if (end > to) break;
    add(place, match.index);
    for (const [name, span] of Object.entries(match.indices.groups)) {
      if (!span || name === 'tick') continue;
      if (name === 'code' || name === 'address' || styles.length === DEEPEST_STYLE) add(...span, [STYLES[name]]);
      else pieces.push(...inline(text, ...span, [...styles, STYLES[name]]));
    }
    place = end;
    INLINE.lastIndex = end;
  }
  add(place, to);
  return pieces;
}

const FENCE = /^ {0,3}```/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const HEADING = /^ {0,3}#{1,6}[ \t]+/;
const QUOTED = /^ {0,3}(?:>[ \t]?)+/;
const ITEM = /^([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(?=\S)/;
const DEEPEST_ITEM = 3;

// The blocks of a text: { kind, from, to, mark, depth }; `mark` is what stands before an item.
function blocks(text) {
  const found = [];
  let fence = null;
  let from = 0;
  for (const line of text.split('\n')) {
    const to = from + line.length;
    const last = found.at(-1);
    const open = (kind, skip = 0, rest = {}) => found.push({ kind, from: from + skip, to, ...rest });
    const item = ITEM.exec(line);
    if (fence) {
      if (FENCE.test(line)) fence = null;
      else Object.assign(fence, { from: fence.from < 0 ? from : fence.from, to });
    } else if (FENCE.test(line)) {
      fence = { kind: 'pre', from: -1, to: -1 };
      found.push(fence);
    } else if (line.trim() === '') open('gap');
    else if (RULE.test(line)) open('hr');
    else if (HEADING.test(line)) open('heading', HEADING.exec(line)[0].length);
    else if (QUOTED.test(line)) open('quote', QUOTED.exec(line)[0].length);
    else if (item) {
      const depth = Math.min(item[1].replace(/\t/g, '    ').length >> 1, DEEPEST_ITEM);
      open('item', item[0].length, { mark: /\d/.test(item[2]) ? item[2] : '•', depth });
    } else if (last?.kind === 'p') last.to = to;
    else open('p');
    from = to + 1;
  }
  return found.filter(({ from: start }) => start >= 0);
}

const TAGS = { pre: 'pre', hr: 'hr', quote: 'blockquote', item: 'div', heading: 'p', p: 'p' };

// The nodes of a text with Markdown; `fill(from, to)` gives the node of a stretch of it.
function markdown(text, fill) {
  return blocks(text).filter(({ kind }) => kind !== 'gap').map(({ kind, from, to, mark, depth }) => {
    const pieces = kind === 'pre' || kind === 'hr' ? [{ from, to, styles: [] }] : inline(text, from, to);
    const nodes = kind === 'hr' ? [] : pieces.map((piece) => piece.styles.reduceRight(
      (node, style) => (style.startsWith('.') ? el('span', { class: style.slice(1) }, node) : el(style, {}, node)),
      fill(piece.from, piece.to),
    ));
    if (mark) nodes.unshift(el('span', { class: 'marker' }, mark));
    return el(TAGS[kind], { class: `md-${kind}${depth ? ` depth-${depth}` : ''}`, dir: 'auto' }, nodes);
  });
}

// A text on one line as a person reads it, without the marks.
function asRead(text) {
  const said = text.replace(THINKING, ' ');
  return blocks(said).filter(({ kind }) => kind !== 'hr').map(({ from, to }) => inline(said, from, to)
    .filter(({ styles }) => !styles.includes('.address'))
    .map((piece) => said.slice(piece.from, piece.to)).join('')).join(' ').replace(/\s+/g, ' ').trim();
}

// As grice.text.markup has it: what nobody was told.
const THINKING = /^(?:(?!<\/?think(?:ing)?>)[\s\S])*<\/think(?:ing)?>|<(think|thinking|reasoning)>[\s\S]*?(?:<\/\1>|$)/gi;

// The stretches of a text: { from, to, thinking }.
function thoughts(text) {
  const parts = [];
  let place = 0;
  for (const match of text.matchAll(THINKING)) {
    if (match.index > place) parts.push({ from: place, to: match.index, thinking: false });
    place = match.index + match[0].length;
    parts.push({ from: match.index, to: place, thinking: true });
  }
  if (place < text.length || parts.length === 0) parts.push({ from: place, to: text.length, thinking: false });
  return parts;
}
