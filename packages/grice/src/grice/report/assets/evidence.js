// The evidence behind one score. A kind that is not known here is shown field by field.

const QUOTE = 160;
const FLAGS = {
  empty: 'empty reply', thinking_skipped: 'thinking not judged', json: 'a JSON object', truncated: 'not read to its end',
};

// The whole stands marked in its turn.
const quote = (text) => el('q', {}, el('bdi', {}, excerpt(text, QUOTE)));

// Any JSON value, readable.
function fields(value) {
  if (value === null || value === undefined) return el('span', { class: 'quiet' }, 'none');
  if (typeof value !== 'object') return el('bdi', { class: 'plain' }, String(value));
  const entries = Object.entries(value);
  if (entries.length === 0) return el('span', { class: 'quiet' }, 'empty');
  return el('dl', { class: 'fields' }, entries.map(([name, part]) => el(
    'div', {}, el('dt', {}, el('bdi', {}, Array.isArray(value) ? `${Number(name) + 1}` : name)), el('dd', {}, fields(part)),
  )));
}

function tripleRow({ triple, plausibility, known }) {
  const part = (text, role) => el('bdi', { class: role }, text);
  return el('div', { class: 'triple' },
    el('p', { class: 'statement' },
      part(triple.head, 'from-head'), ' ', el('span', { class: 'relation' }, `— ${triple.relation} →`), ' ',
      part(triple.tail, 'from-tail')),
    el('p', { class: 'amount' }, bar(plausibility), el('b', {}, number(plausibility, 2)), ' plausible'),
    known
      ? el('p', { class: 'known' }, known.opposes ? 'known to the contrary: ' : 'nearest known: ', el('bdi', {}, known.head), ' → ', el('bdi', {}, known.tail),
        el('span', { class: 'quiet' },
          ` · similarity ${number(known.head_similarity, 2)} head, ${number(known.tail_similarity, 2)} tail · `,
          el('bdi', {}, known.source)))
      : el('p', { class: 'known quiet' }, 'nothing known is near'),
    triple.source ? el('p', { class: 'known quiet' }, 'from ', el('bdi', {}, triple.source)) : null);
}

function turnRow(piece, conversation, scale) {
  const turn = conversation.turns[piece.turn];
  return el('div', { class: 'effect' },
    bar(piece.effect / scale, 'effect-bar'),
    el('b', {}, signed(piece.effect, 3)),
    el('p', {},
      el('button', { type: 'button', class: 'jump', data: { jump: piece.turn } }, `turn ${piece.turn}`), ' ',
      turn ? [el('bdi', { class: 'quiet' }, turn.speaker), ' ', quote(turn.text)] : null));
}

function featureRow(piece, conversation, scale) {
  const turn = piece.span ? conversation.turns[piece.span.turn] : null;
  const units = turn ? unitsOf(turn.text) : null;
  const known = typeof piece.effect === 'number';
  return el('div', { class: 'effect' },
    known ? bar(piece.effect / scale, 'effect-bar') : el('span'),
    el('b', {}, known ? signed(piece.effect, 3) : ''),
    el('p', {}, el('bdi', {}, piece.name), ' ', el('b', {}, loose(piece.value)),
      turn ? [' ', quote(turn.text.slice(units(piece.span.start), units(piece.span.end)))] : null));
}

const ROWS = new Map([['triple', tripleRow], ['turn', turnRow], ['feature', featureRow]]);

function evidenceRow(piece, conversation, scale) {
  const row = ROWS.get(piece.kind);
  if (row) return row(piece, conversation, scale);
  const { kind, ...rest } = piece;
  return el('div', { class: 'other' }, el('p', { class: 'quiet' }, el('bdi', {}, kind ?? 'evidence')), fields(rest));
}

// The stretches of text that a piece of evidence points at.
function spansOf(piece) {
  if (piece.kind === 'triple') {
    return [['span-head', piece.triple.head_span], ['span-tail', piece.triple.tail_span]].filter(([, span]) => span);
  }
  return piece.span && typeof piece.span.turn === 'number' ? [['span-feature', piece.span]] : [];
}

function evidenceBlock(score, conversation) {
  const metric = metrics[score.number];
  // Bars compare the effects within one score; a tenth of the metric's range is full length at least.
  const effects = score.evidence.map((piece) => Math.abs(piece.effect ?? 0));
  const scale = Math.max(lengthOf(metric) / 10, ...effects);
  const value = { ok: number(score.value, metric.decimals + 2), abstained: 'abstained', failed: 'failed' }[score.status];
  return el('section', { class: 'block', 'aria-label': `Evidence for ${metric.name}` },
    el('p', { class: 'block-head' },
      el('b', {}, metric.name), ' ', el('span', {}, value),
      score.status === 'abstained' && score.value !== null ? el('span', { class: 'quiet' }, `carries ${number(score.value, metric.decimals)}`) : null,
      score.flags.map((flag) => el('span', { class: 'flag' }, FLAGS[flag] ?? flag))),
    score.reason ? el('p', { class: 'reason' }, el('bdi', {}, score.reason)) : null,
    score.evidence.map((piece, i) => {
      const row = evidenceRow(piece, conversation, scale);
      row.dataset.piece = `${score.place}.${i}`;
      return row;
    }),
    score.evidence.length === 0 && !score.reason ? el('p', { class: 'quiet' }, 'no evidence was recorded') : null,
    score.more > 0 ? el('p', { class: 'quiet' }, `… ${count(score.more)} more`) : null,
    score.signature ? el('p', { class: 'quiet' }, 'another signature: ', el('code', {}, score.signature)) : null,
    score.meta ? el('details', {}, el('summary', {}, 'fields of this score'), fields(score.meta)) : null);
}
