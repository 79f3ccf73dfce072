// Which conversations are listed, and in what order: decided on the index alone.

const WHOLE = -1;
const OTHER = -2;

const speakerNumber = (name) => speakerNumbers.get(name) ?? OTHER;

const bins = (metric) => metrics[metric].edges.length - 1;

const start = () => ({
  metric: 0, order: 'lowest', status: 'any', speaker: 'any', from: 0, to: bins(0),
});
const choice = { ...start(), query: '', found: null, page: 0, open: -1, source: false };

const rangeChosen = () => choice.from > 0 || choice.to < bins(choice.metric);
const chosen = () => choice.status !== 'any' || choice.speaker !== 'any' || rangeChosen() || choice.query !== '';

// The bits of what a speaker's scores must contain at least one of.
function wantedBits() {
  const size = bins(choice.metric);
  const range = (2 ** choice.to - 1) & ~(2 ** choice.from - 1);
  const bits = { ok: range, abstained: 2 ** size, failed: 2 ** (size + 1) };
  if (choice.status !== 'any') return bits[choice.status];
  return rangeChosen() ? range : range | bits.abstained | bits.failed;
}

const speakerFits = (speaker) => choice.speaker === 'any' || speaker === WHOLE || speaker === choice.speaker;

function fits(index, place, wanted) {
  if (choice.found !== null && !choice.found.has(place)) return false;
  if (choice.speaker !== 'any' && !index.cast[place].includes(choice.speaker)) return false;
  if (choice.status === 'any' && !rangeChosen()) return true;
  const cells = index.cells[choice.metric][place];
  for (let i = 0; i < cells.length; i += 3) {
    if (speakerFits(cells[i]) && cells[i + 1] & wanted) return true;
  }
  return false;
}

// The lowest value of the chosen metric among the chosen speakers; null if none was judged.
function key(index, place) {
  const cells = index.cells[choice.metric][place];
  let lowest = null;
  for (let i = 0; i < cells.length; i += 3) {
    const value = cells[i + 2];
    if (value !== null && speakerFits(cells[i]) && (lowest === null || value < lowest)) lowest = value;
  }
  return lowest;
}

function listed(index) {
  const wanted = wantedBits();
  const places = [];
  for (let place = 0; place < index.ids.length; place++) if (fits(index, place, wanted)) places.push(place);
  if (choice.order === 'input') return places;
  if (choice.order === 'id') {
    const order = new Intl.Collator('en', { numeric: true }).compare;
    return places.sort((a, b) => order(index.ids[a], index.ids[b]) || a - b);
  }
  const keys = new Map(places.map((place) => [place, key(index, place)]));
  return places.sort((a, b) => {
    const [x, y] = [keys.get(a), keys.get(b)];
    if (x === null || y === null) return (x === null) - (y === null) || a - b;
    return x - y || a - b;
  });
}

// Full text. The query is plain text: every sign in it stands for itself.
const pattern = (query) => new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu');

function holds(conversation, sought) {
  const found = (text) => typeof text === 'string' && text.search(sought) >= 0;
  return found(conversation.id)
    || conversation.turns.some((turn) => found(turn.text) || found(turn.speaker));
}

let searches = 0;

// Goes through all chunks; `report(done)` is called now and then. A later search ends this one.
async function search(query, report) {
  const mine = ++searches;
  choice.query = query;
  choice.found = query === '' ? null : new Set();
  if (query === '') return report(1);
  const sought = pattern(query);
  // A line that does not hold the query as JSON writes it need not be read; where escapes that
  // JSON could have spared stand in for letters, it must be.
  const written = pattern(JSON.stringify(query).slice(1, -1));
  const worth = (line) => line.search(written) >= 0 || line.includes('\\u');
  let told = 0;
  for (let chunk = 0; chunk < settings.starts.length; chunk++) {
    const lines = await chunkLines(chunk);
    if (mine !== searches) return undefined;
    lines.forEach((line, i) => {
      if (worth(line) && holds(JSON.parse(line).conversation, sought)) choice.found.add(settings.starts[chunk] + i);
    });
    if (performance.now() - told > 250) {
      told = performance.now();
      report((chunk + 1) / settings.starts.length);
      await new Promise((resolve) => { setTimeout(resolve); });
      if (mine !== searches) return undefined;
    }
  }
  return report(1);
}
