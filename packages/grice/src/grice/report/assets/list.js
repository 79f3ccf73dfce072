// The list of conversations, page by page, and the one that is open.

const PAGE = 25;
const SNIPPET = 100;
const NAME = 70;
const ID = 48;
let index;
let speakerNumbers;
let order = [];
let rendering = 0;

async function renderList() {
  const mine = ++rendering;
  order = listed(index);
  const pages = Math.max(Math.ceil(order.length / PAGE), 1);
  choice.page = Math.min(choice.page, pages - 1);
  const from = choice.page * PAGE;
  const shown = order.slice(from, from + PAGE);
  $('g-found').textContent = chosen()
    ? `${count(order.length)} of ${plural(index.ids.length, 'conversation')}`
    : plural(index.ids.length, 'conversation') + (settings.total > index.ids.length ? ` of ${count(settings.total)}` : '');
  $('g-rows').replaceChildren(...(shown.length > 0 ? shown.map(row) : [el('li', { class: 'none' }, 'No conversation fits.')]));
  $('g-rows').start = from + 1;
  $('g-pages').hidden = pages === 1;
  $('g-page').textContent = `${count(from + 1)} to ${count(from + shown.length)}`;
  $('g-back').disabled = choice.page === 0;
  $('g-next').disabled = choice.page === pages - 1;
  markOpen(false);
  for (const place of shown) {
    const conversation = await conversationAt(place);
    if (mine !== rendering) return;
    const anchor = $('g-rows').querySelector(`[data-place="${place}"]`);
    if (anchor) fillRow(anchor, conversation);
  }
}

// The whole heads the conversation, and shows where one points at it.
function shortId(id) {
  const start = head(id, ID);
  return start === id ? el('bdi', {}, id) : el('bdi', { title: id }, `${start}…`);
}

function row(place) {
  const metric = metrics[choice.metric];
  const value = key(index, place);
  return el('li', {}, el('a', { href: link(index.ids[place]), data: { place } },
    el('span', { class: 'key' },
      el('b', {}, number(value, metric.decimals)),
      value !== null ? bar(shareOf(metric, value)) : null),
    el('span', { class: 'said' },
      el('bdi', { class: 'name' }), el('span', { class: 'snippet' }),
      el('span', { class: 'id' }, shortId(index.ids[place]), ` · ${plural(index.turns[place], 'turn')}`))));
}

// The first words of a user, and the reply with the lowest score.
function fillRow(anchor, conversation) {
  anchor.querySelector('.name').textContent = titleOf(conversation, NAME);
  const low = lowestScore(conversation);
  const turn = low && low.turn !== null ? conversation.turns[low.turn] : null;
  if (!turn) return;
  const said = excerpt(turn.text, SNIPPET);
  anchor.querySelector('.snippet').append(
    el('bdi', { class: 'speaker' }, turn.speaker), ' ', el('bdi', {}, said || '(empty)'),
  );
}

function markOpen(scroll) {
  for (const anchor of $('g-rows').querySelectorAll('a')) {
    const open = Number(anchor.dataset.place) === choice.open;
    if (open) anchor.setAttribute('aria-current', 'true');
    else anchor.removeAttribute('aria-current');
    if (open && scroll) anchor.scrollIntoView({ block: 'nearest' });
  }
}

// Opens a conversation, at a turn of it. `address`: whether it becomes the page's address.
async function open(place, { address = true, focus = false, turn = null } = {}) {
  const again = choice.open === place && turn !== null && $('g-view').querySelector('.conversation');
  choice.open = place;
  markOpen(address);
  const conversation = await conversationAt(place);
  if (choice.open !== place) return;
  const view = $('g-view');
  if (!again) {
    view.replaceChildren(
      el('p', { class: 'steps' },
        el('button', { type: 'button', class: 'to-list', onclick: toList }, '‹ List'),
        el('button', { type: 'button', onclick: () => step(-1) }, 'Previous'),
        el('button', { type: 'button', onclick: () => step(1) }, 'Next')),
      conversationView(conversation, place));
  }
  if (address) {
    document.body.classList.add('reading');
    const here = link(conversation.id, turn);
    if (location.hash !== here) history.pushState(null, '', here);
    const top = view.getBoundingClientRect().top;
    if (turn === null && (top < 0 || top > innerHeight * 0.6)) view.scrollIntoView({ block: 'start' });
  }
  if (focus) view.focus({ preventScroll: true });
  if (turn !== null) showTurn(view.querySelector('.conversation'), turn);
}

// Brings a turn into view, with the evidence of its lowest score, and of the lowest that marks words.
function showTurn(view, number) {
  const judged = view.conversation.scores.filter((score) => score.turn === number && score.status === 'ok')
    .sort((a, b) => a.value - b.value);
  const marks = (score) => score.evidence.some((piece) => spansOf(piece).some(([, span]) => span.turn === number));
  for (const score of new Set([judged[0], judged.find(marks)].filter(Boolean))) {
    unfold(view, view.querySelector(`[data-score="${score.place}"]`), true);
  }
  jumpTo(view, number);
}

const bareAddress = () => location.pathname + location.search;

function toList() {
  document.body.classList.remove('reading');
  history.pushState(null, '', bareAddress());
  $('g-rows').querySelector('[aria-current]')?.focus();
}

async function step(by) {
  const at = order.indexOf(choice.open);
  const next = at < 0 ? 0 : at + by;
  if (next < 0 || next >= order.length) return;
  const page = Math.floor(next / PAGE);
  choice.open = order[next];
  if (page !== choice.page) {
    choice.page = page;
    renderList();
  }
  await open(order[next]);
}

// Opens what the address names. Ids may repeat: the open one stays if it has that id.
function openAddress() {
  if (location.hash.length < 2) {
    document.body.classList.remove('reading');
    return false;
  }
  const { place, turn } = addressed();
  $('g-notice').hidden = place >= 0;
  if (place < 0) {
    $('g-notice').textContent = 'This page holds no conversation with the id in its address.';
    return false;
  }
  const at = order.indexOf(place);
  if (at >= 0 && Math.floor(at / PAGE) !== choice.page) {
    choice.page = Math.floor(at / PAGE);
    renderList();
  }
  if (place !== choice.open || turn !== null || !document.body.classList.contains('reading')) open(place, { turn });
  return true;
}

// The conversation that the address names, -1 if there is none, and the turn.
function addressed() {
  const [, name, turn] = location.hash.match(/^#(.*?)(?:\/(\d+))?$/s);
  const placeOf = (wanted) => (choice.open >= 0 && decoded(link(index.ids[choice.open])) === wanted
    ? choice.open : index.ids.findIndex((id) => decoded(link(id)) === wanted));
  const place = placeOf(decoded(`#${name}`));
  // An id may have been written into the address by hand, with a stroke in it.
  return place >= 0 ? { place, turn: turn ? Number(turn) : null } : { place: placeOf(decoded(location.hash)), turn: null };
}

function decoded(hash) {
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return hash.slice(1);
  }
}
