// One conversation: its turns with scores, marks in the text, and evidence that unfolds.

const LONG = 2000;
const UNSPOKEN = 400;
const HITS = 200;
const TITLE = 120;

// Cuts text[from..to] at the ends of the stretches and wraps what they cover. A stretch is
// { from, to, kind, piece } in UTF-16 units.
function markedText(text, stretches, from = 0, to = text.length) {
  const cuts = new Set([from, to]);
  for (const stretch of stretches) {
    for (const end of [stretch.from, stretch.to]) if (end > from && end < to) cuts.add(end);
  }
  const ends = [...cuts].sort((a, b) => a - b);
  const fragment = document.createDocumentFragment();
  for (let i = 0; i + 1 < ends.length; i++) {
    const part = text.slice(ends[i], ends[i + 1]);
    const over = stretches.filter((stretch) => stretch.from < ends[i + 1] && stretch.to > ends[i]);
    if (over.length === 0) {
      fragment.append(part);
    } else {
      const kinds = [...new Set(over.map(({ kind }) => kind))].join(' ');
      const pieces = over.map(({ piece }) => piece).filter(Boolean).join(' ');
      fragment.append(el('mark', { class: kinds, data: { pieces } }, part));
    }
  }
  return fragment;
}

function hitsIn(text) {
  if (choice.query === '') return [];
  const hits = [];
  for (const match of text.matchAll(pattern(choice.query))) {
    if (match[0] !== '') hits.push({ from: match.index, to: match.index + match[0].length, kind: 'hit' });
    if (hits.length >= HITS) break;
  }
  return hits;
}

function stretchesOf(conversation, number) {
  const units = unitsOf(conversation.turns[number].text);
  const stretches = [];
  for (const { spans = [] } of conversation.findings) {
    for (const span of spans) {
      if (span.turn === number && span.end > span.start) {
        stretches.push({ from: units(span.start), to: units(span.end), kind: 'flawed' });
      }
    }
  }
  for (const score of conversation.scores) {
    score.evidence.forEach((piece, i) => {
      for (const [kind, span] of spansOf(piece)) {
        if (span.turn !== number || span.end <= span.start) continue;
        stretches.push({ from: units(span.start), to: units(span.end), kind, piece: `${score.place}.${i}` });
      }
    });
  }
  return stretches;
}

// What was thought is folded up; what was said is set as Markdown, or stands as it was written.
function textNodes(text, stretches) {
  return thoughts(text).map(({ from, to, thinking }) => {
    if (thinking) {
      return el('details', { class: 'extra' }, el('summary', {}, 'Thinking, not judged'), el('p', { class: 'plain' }, text.slice(from, to)));
    }
    const part = text.slice(from, to);
    const fill = (start, end) => markedText(text, stretches, from + start, from + end);
    if (part.trim() === '') return null;
    return choice.source
      ? el('p', { class: 'plain', dir: 'auto' }, fill(0, part.length)) : el('div', { class: 'md' }, markdown(part, fill));
  }).filter(Boolean);
}

function turnText(conversation, number) {
  const { text } = conversation.turns[number];
  const body = el('div', { class: 'text' });
  const fill = (shown) => body.replaceChildren(
    ...textNodes(shown, [...stretchesOf(conversation, number), ...hitsIn(shown)]),
  );
  const start = head(text, conversation.unspoken.has(number) ? UNSPOKEN : LONG);
  fill(start);
  if (text.trim() === '' && !callsOf(conversation.turns[number]).length) body.append(el('span', { class: 'quiet' }, '(empty)'));
  if (start.length === text.length) return body;
  const button = el('button', {
    type: 'button',
    class: 'more',
    onclick: () => { fill(text); button.remove(); lightMarks(body.closest('.conversation')); },
  }, `Show all ${count(codePoints(text))} characters`);
  return [body, button];
}

// The calls of tools that a turn holds, as the common formats of chat logs write them.
function callsOf({ meta }) {
  if (!meta) return [];
  const list = (value) => (Array.isArray(value) ? value : []);
  return [
    ...list(meta.tool_calls).map((call) => call?.function ?? call),
    ...(meta.function_call ? [meta.function_call] : []),
    ...list(meta.content).filter((part) => part?.type === 'tool_use'),
  ].filter((call) => call && typeof call === 'object');
}

function callItem({ name, arguments: written, input }) {
  let value = written ?? input;
  try {
    if (typeof value === 'string') value = JSON.parse(value);
  } catch { /* what is no JSON is shown as it is */ }
  return el('div', { class: 'call' },
    el('p', {}, el('span', { class: 'quiet' }, 'calls '), el('code', {}, el('bdi', {}, String(name ?? 'a tool')))),
    value === undefined || value === null ? null : fields(value));
}

function chip(score, conversation, low) {
  const metric = metrics[score.number];
  const judged = score.status === 'ok';
  return el('button', {
    type: 'button',
    class: `chip ${score.status}${score === low ? ' low' : ''}`,
    'aria-expanded': 'false',
    title: [metric.name, score.reason, ...score.flags.map((flag) => FLAGS[flag] ?? flag)].filter(Boolean).join(' · '),
    data: { score: score.place },
  },
  el('span', { class: 'name' }, metric.name),
  judged ? bar(shareOf(metric, score.value)) : null,
  el('span', { class: 'value' }, judged ? number(score.value, metric.decimals) : score.status));
}

// Chips of one metric stand below one another from turn to turn: an empty place keeps the column.
function chips(scores, conversation, low) {
  if (scores.length === 0) return null;
  const judges = scores[0].turn === null ? 'conversation' : 'response';
  const row = [];
  metrics.forEach((metric, number) => {
    const own = scores.filter((score) => score.number === number);
    if (own.length === 0 && metric.judges === judges) row.push(el('span', { class: 'chip empty' }));
    row.push(...own.map((score) => chip(score, conversation, low)));
  });
  return el('div', { class: 'scored' }, el('div', { class: 'chips' }, row));
}

function extra(name, value) {
  if (value === null || value === undefined || Object.keys(value).length === 0) return null;
  return el('details', { class: 'extra' }, el('summary', {}, name), fields(value));
}

function turnItem(conversation, number, low) {
  const turn = conversation.turns[number];
  const scores = conversation.scores.filter((score) => score.turn === number);
  const unspoken = conversation.unspoken.has(number);
  return el('li', { class: `turn${unspoken ? ' unspoken' : ''}`, data: { turn: number } },
    el('p', { class: 'who' },
      el('a', { class: 'at', href: link(conversation.id, number), title: 'Link to this turn' }, `${number}`),
      el('bdi', { class: 'speaker' }, turn.speaker),
      turn.role && turn.role !== turn.speaker ? el('bdi', { class: 'quiet' }, turn.role) : null,
      unspoken ? el('span', { class: 'quiet' }, 'not judged') : null,
      turn.time ? el('bdi', { class: 'quiet' }, turn.time) : null),
    el('div', { class: 'said' },
      turnText(conversation, number),
      conversation.findings.filter(({ turn: at }) => at === number).map(({ code, message }) => (
        el('p', { class: 'finding' }, el('b', {}, code), ' ', el('bdi', {}, message)))),
      callsOf(turn).map(callItem),
      chips(scores, conversation, low),
      extra('References', turn.references),
      extra('Extra fields', turn.meta)));
}

// The score that decides the conversation's place in the list.
function lowestScore(conversation) {
  let low = null;
  for (const score of conversation.scores) {
    if (score.number !== choice.metric || score.status !== 'ok') continue;
    if (!speakerFits(score.turn === null ? WHOLE : speakerNumber(conversation.turns[score.turn].speaker))) continue;
    if (low === null || score.value < low.value) low = score;
  }
  return low;
}

// The first words of a user, by which a person knows a conversation; failing that, its id.
function titleOf(conversation, length) {
  return (conversation.opening === null ? '' : excerpt(conversation.turns[conversation.opening].text, length)) || conversation.id;
}

function conversationView(conversation, place) {
  conversation.scores.forEach((score, i) => { score.place = i; });
  const low = lowestScore(conversation);
  const whole = conversation.scores.filter((score) => score.turn === null);
  const speakers = new Set(conversation.turns.map((turn) => turn.speaker)).size;
  const view = el('article', { class: 'conversation' },
    el('header', { class: 'title' },
      el('h2', { dir: 'auto' }, titleOf(conversation, TITLE)),
      el('p', { class: 'quiet' },
        el('a', { href: link(conversation.id), class: 'self' }, el('bdi', {}, conversation.id)),
        ['', plural(conversation.turns.length, 'turn'), plural(speakers, 'speaker'),
          `number ${count((settings.places ? settings.places[place] : place) + 1)} of the input`].join(' · ')),
      el('p', { class: 'actions' },
        low && low.turn !== null
          ? el('button', { type: 'button', class: 'jump', data: { jump: low.turn } }, `Lowest: turn ${low.turn}`) : null,
        conversation.scores.length > 0 ? el('button', { type: 'button', class: 'unfold', 'aria-pressed': 'false' }, 'All evidence') : null,
        el('button', { type: 'button', class: 'source', 'aria-pressed': String(choice.source) }, 'As written'),
        el('button', { type: 'button', class: 'copy' }, 'Copy link'))),
    chips(whole, conversation, low),
    extra('Extra fields', conversation.meta),
    el('ol', { class: 'turns' }, conversation.turns.map((_, number) => turnItem(conversation, number, low))));
  view.conversation = conversation;
  if (low) unfold(view, view.querySelector(`[data-score="${low.place}"]`), true);
  return view;
}

function unfold(view, button, open) {
  if (!button || (button.getAttribute('aria-expanded') === 'true') === open) return;
  button.setAttribute('aria-expanded', String(open));
  const scored = button.closest('.scored');
  const score = view.conversation.scores[button.dataset.score];
  if (open) {
    const block = evidenceBlock(score, view.conversation);
    block.dataset.block = score.place;
    // Blocks stand in the order of their chips.
    const later = [...scored.querySelectorAll('.block')].find((other) => Number(other.dataset.block) > score.place);
    scored.insertBefore(block, later ?? null);
  } else {
    scored.querySelector(`[data-block="${score.place}"]`).remove();
  }
  lightMarks(view);
}

function unfoldAll(view, open, only = () => true) {
  for (const button of view.querySelectorAll('.chip[data-score]')) {
    if (only(view.conversation.scores[button.dataset.score])) unfold(view, button, open);
  }
  view.querySelector('.unfold')?.setAttribute('aria-pressed', String(open));
}

// Marks show for the evidence that is unfolded, and strongly for the piece in hand.
function lightMarks(view, piece = null) {
  const open = new Set([...view.querySelectorAll('[data-piece]')].map((row) => row.dataset.piece));
  for (const mark of view.querySelectorAll('mark[data-pieces]')) {
    const pieces = mark.dataset.pieces.split(' ');
    mark.classList.toggle('on', pieces.some((name) => open.has(name)));
    mark.classList.toggle('lit', piece !== null && pieces.includes(piece));
  }
}

function jumpTo(view, number) {
  const turn = view.querySelector(`.turn[data-turn="${number}"]`);
  if (!turn) return;
  turn.scrollIntoView({ block: 'center', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
  turn.classList.remove('flash');
  requestAnimationFrame(() => turn.classList.add('flash'));
}

// Copies the address of the turn in hand, or of the conversation. Where a browser does not let a
// page, the address bar holds it.
async function copyAddress(button, view) {
  const here = link(view.conversation.id);
  if (location.hash !== here && !location.hash.startsWith(`${here}/`)) history.replaceState(null, '', here);
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'In the address bar';
  }
  setTimeout(() => { button.textContent = 'Copy link'; }, 2000);
}

// Shows every text as it was written, or set as Markdown again.
function writeSource(view) {
  choice.source = !choice.source;
  view.querySelector('.source').setAttribute('aria-pressed', String(choice.source));
  view.querySelectorAll('.turn').forEach((item, number) => {
    item.querySelectorAll(':scope > .said > .text, :scope > .said > .more').forEach((node, i) => {
      if (i === 0) node.replaceWith(...[turnText(view.conversation, number)].flat());
      else node.remove();
    });
  });
  lightMarks(view);
}

// One set of listeners for every conversation inside `root`.
function listenIn(root) {
  root.addEventListener('click', (event) => {
    const view = event.target.closest('.conversation');
    const button = event.target.closest('button');
    if (!view || !button) return;
    if (button.dataset.score) unfold(view, button, button.getAttribute('aria-expanded') !== 'true');
    else if (button.dataset.jump) jumpTo(view, button.dataset.jump);
    else if (button.matches('.copy')) copyAddress(button, view);
    else if (button.matches('.source')) writeSource(view);
    else if (button.matches('.unfold')) unfoldAll(view, button.getAttribute('aria-pressed') !== 'true');
  });
  const point = (event) => {
    const view = event.target.closest('.conversation');
    if (view) lightMarks(view, event.target.closest('[data-piece]')?.dataset.piece ?? null);
  };
  root.addEventListener('pointerover', point);
  root.addEventListener('focusin', point);
}
