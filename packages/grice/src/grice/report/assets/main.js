// Tools, keys, print, and the start.

const NARROW = matchMedia('(max-width: 56rem)');
const PRINTED = 5;
const PRINTED_REPLIES = 3;

function options(select, entries) {
  select.replaceChildren(...entries.map(([value, text]) => el('option', { value: String(value) }, text)));
}

function fillRange() {
  const { edges, decimals } = metrics[choice.metric];
  const text = (i) => number(edges[i], decimals);
  options($('g-from'), edges.slice(0, -1).map((_, i) => [i, text(i)]));
  options($('g-to'), edges.slice(1).map((_, i) => [i + 1, text(i + 1)]));
}

function showTools() {
  $('g-metric').value = String(choice.metric);
  $('g-order').value = choice.order;
  $('g-status').value = choice.status;
  $('g-speaker').value = String(choice.speaker);
  fillRange();
  $('g-from').value = String(choice.from);
  $('g-to').value = String(choice.to);
  $('g-reset').hidden = !chosen();
  for (const panel of document.querySelectorAll('.panel')) {
    const current = Number(panel.dataset.metric) === choice.metric;
    panel.classList.toggle('current', current && metrics.length > 1);
    for (const group of panel.querySelectorAll('.bin')) {
      const bin = Number(group.dataset.bin);
      group.classList.toggle('out', current && rangeChosen() && (bin < choice.from || bin >= choice.to));
    }
  }
}

// Takes a change over: list, tools, and the open conversation follow.
async function choose(change) {
  const metricChanged = 'metric' in change && change.metric !== choice.metric;
  Object.assign(choice, { page: 0 }, change);
  if (metricChanged && !('from' in change)) Object.assign(choice, { from: 0, to: bins(choice.metric) });
  showTools();
  renderList();
  const reading = document.body.classList.contains('reading');
  if (reading && order.includes(choice.open)) {
    await open(choice.open, { address: false });
  } else if (order.length > 0) {
    if (reading) history.replaceState(null, '', bareAddress());
    document.body.classList.remove('reading');
    await open(order[0], { address: false });
  }
  printSoon();
}

function listenToTools() {
  const whole = (select) => Number(select.value);
  $('g-tools').addEventListener('submit', (event) => event.preventDefault());
  $('g-metric').addEventListener('change', (event) => choose({ metric: whole(event.target) }));
  $('g-order').addEventListener('change', (event) => choose({ order: event.target.value }));
  $('g-status').addEventListener('change', (event) => choose({ status: event.target.value }));
  $('g-speaker').addEventListener('change', ({ target }) => choose({ speaker: target.value === 'any' ? 'any' : whole(target) }));
  $('g-from').addEventListener('change', ({ target }) => choose({ from: whole(target), to: Math.max(choice.to, whole(target) + 1) }));
  $('g-to').addEventListener('change', ({ target }) => choose({ to: whole(target), from: Math.min(choice.from, whole(target) - 1) }));
  $('g-tools').addEventListener('reset', (event) => {
    event.preventDefault();
    $('g-query').value = '';
    $('g-progress').hidden = true;
    search('', () => {});
    choose({ ...start(), metric: choice.metric, order: choice.order, from: 0, to: bins(choice.metric) });
  });
  let waiting;
  $('g-query').addEventListener('input', ({ target }) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => seek(target.value.trim()), 250);
  });
  $('g-back').addEventListener('click', () => turnPage(-1));
  $('g-next').addEventListener('click', () => turnPage(1));
  $('g-rows').addEventListener('click', (event) => {
    const anchor = event.target.closest('a');
    if (!anchor || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    open(Number(anchor.dataset.place), { focus: true });
  });
}

function turnPage(by) {
  choice.page += by;
  renderList();
  $('g-rows').scrollTop = 0;
}

async function seek(query) {
  const progress = $('g-progress');
  progress.hidden = query === '';
  await search(query, (done) => {
    progress.value = done;
    progress.hidden = done === 1;
    $('g-reset').hidden = !chosen();
    if (done === 1) choose({});
    else renderList();
  });
}

// A bar chooses its range; with Shift the range grows to it; the same bar again clears it.
function listenToBars() {
  document.querySelector('.panels').addEventListener('click', (event) => {
    const group = event.target.closest('.bin');
    if (!group) return;
    const metric = Number(group.closest('.panel').dataset.metric);
    const bin = Number(group.dataset.bin);
    const grow = event.shiftKey && metric === choice.metric && rangeChosen();
    const [from, to] = grow ? [Math.min(choice.from, bin), Math.max(choice.to, bin + 1)] : [bin, bin + 1];
    const again = metric === choice.metric && choice.from === from && choice.to === to;
    choose({ metric, from: again ? 0 : from, to: again ? bins(metric) : to });
  });
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  e: () => $('g-view').querySelector('.unfold')?.click(),
  '/': () => $('g-query').focus(),
  Escape: () => document.body.classList.contains('reading') && toList(),
};

function listenToKeys() {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest('input, select, textarea')) {
      if (event.key === 'Escape') event.target.blur();
      return;
    }
    const action = KEYS[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

// What is printed must stand ready: printing does not wait for chunks to be unpacked.
async function fillPrint() {
  const places = order.slice(0, PRINTED);
  const views = [];
  for (const place of places) {
    const view = conversationView(await conversationAt(place), place);
    const judged = view.conversation.scores.filter((score) => score.number === choice.metric && score.status === 'ok');
    const lowest = judged.sort((a, b) => a.value - b.value).slice(0, PRINTED_REPLIES);
    unfoldAll(view, true, (score) => lowest.includes(score));
    views.push(view);
  }
  const which = { lowest: `lowest by ${metrics[choice.metric].name}`, input: 'in input order', id: 'by id' }[choice.order];
  $('g-print').replaceChildren(
    el('h2', {}, `The first ${plural(views.length, 'conversation')}, ${which}`),
    el('p', { class: 'quiet' }, `With the evidence for the lowest ${PRINTED_REPLIES} scores of each.`), ...views);
}

let printing;
function printSoon() {
  clearTimeout(printing);
  printing = setTimeout(fillPrint, 500);
}

async function begin() {
  if (typeof DecompressionStream === 'undefined') {
    $('g-notice').textContent = 'This browser cannot unpack the conversations (it lacks DecompressionStream). The figures above are complete.';
    $('g-notice').hidden = false;
    return;
  }
  index = JSON.parse(await unpack($('g-index')));
  options($('g-metric'), metrics.map((metric, i) => [i, metric.name]));
  speakerNumbers = new Map(index.speakers.map((name, i) => [name, i]));
  const others = index.cast.some((speakers) => speakers.includes(OTHER)) ? [[OTHER, '(all others)']] : [];
  options($('g-speaker'), [['any', 'any'], ...index.speakers.map((name, i) => [i, head(name, 60)]), ...others]);
  $('g-work').hidden = false;
  // On a phone what a metric measures is one tap away, so that the figures stand together.
  if (NARROW.matches) for (const about of document.querySelectorAll('.on-metric')) about.open = false;
  document.body.classList.add('live');
  showTools();
  listenToTools();
  listenToBars();
  listenToKeys();
  listenIn($('g-view'));
  addEventListener('popstate', openAddress);
  addEventListener('beforeprint', () => { for (const part of document.querySelectorAll('.about, .on-metric, .rest')) part.open = true; });
  order = listed(index);
  const named = openAddress();
  renderList();
  if (!named && order.length > 0) await open(order[0], { address: false });
  printSoon();
}

begin();
