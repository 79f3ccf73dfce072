// What the file holds: settings, the index, and conversations in compressed chunks.

const settings = JSON.parse($('g-settings').textContent);
const metrics = settings.metrics;
const lengthOf = (metric) => metric.edges.at(-1) - metric.edges[0];
const shareOf = (metric, value) => (value - metric.edges[0]) / lengthOf(metric);
const metricNumber = new Map(metrics.map((metric, i) => [metric.name, i]));

async function unpack(element) {
  const letters = atob(element.textContent);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).text();
}

// The script runs while the chunks behind it are still being read.
const whole = new Promise((resolve) => {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', resolve);
  else resolve();
});

async function chunkLines(chunk) {
  if (!$(`g-chunk-${chunk}`)) await whole;
  return (await unpack($(`g-chunk-${chunk}`))).split('\n');
}

const KEPT_CHUNKS = 24;
const keptChunks = new Map();

function linesOf(chunk) {
  const lines = keptChunks.get(chunk) ?? chunkLines(chunk);
  keptChunks.delete(chunk);
  keptChunks.set(chunk, lines);
  if (keptChunks.size > KEPT_CHUNKS) keptChunks.delete(keptChunks.keys().next().value);
  return lines;
}

function chunkOf(place) {
  let low = 0;
  let high = settings.starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (settings.starts[middle] <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

async function conversationAt(place) {
  const chunk = chunkOf(place);
  const lines = await linesOf(chunk);
  return readable(JSON.parse(lines[place - settings.starts[chunk]]));
}

// Fills in what the lines leave out because it is the default.
function readable({ conversation, scores, opening = null, unspoken = [], findings = [] }) {
  return {
    findings,
    id: conversation.id,
    opening,
    unspoken: new Set(unspoken),
    turns: conversation.turns,
    meta: conversation.meta ?? {},
    targets: conversation.targets ?? null,
    scores: scores.map((score) => ({
      value: null, turn: null, reason: null, flags: [], evidence: [], more: 0, signature: '', ...score,
      number: metricNumber.get(score.metric),
    })),
  };
}

// The address of a conversation in this page, and of one of its turns: ids have no stroke here, so
// one parts them. A lone surrogate has no address of its own.
const link = (id, turn = null) => `#${encodeURIComponent(id.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd'))}${turn === null ? '' : `/${turn}`}`;
