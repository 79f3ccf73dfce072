// The list of conversations, page by page, and the one that is open.

const PAGE = 25;
const SNIPPET = 110;
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
    const snippet = $('g-rows').querySelector(`[data-place="${place}"] .snippet`);
    if (snippet) fillSnippet(snippet, conversation);
  }
}

function row(place) {
  const metric = metrics[choice.metric];
  const value = key(index, place);
  return el('li', {}, el('a', { href: link(index.ids[place]), data: { place } },
    el('span', { class: 'key' },
      el('b', {}, number(value, metric.decimals)),
      value !== null ? bar(shareOf(metric, value)) : null),
    el('span', { class: 'name' },
      el('bdi', {}, index.ids[place]), el('span', { class: 'quiet' }, plural(index.turns[place], 'turn'))),
    el('span', { class: 'snippet' })));
}

// The reply with the lowest score; failing that, the first turn.
function fillSnippet(node, conversation) {
  const low = lowestScore(conversation);
  const turn = conversation.turns[low?.turn ?? 0];
  if (!turn) return;
  const text = head(turn.text, SNIPPET);
  node.append(el('bdi', { class: 'speaker' }, turn.speaker), ' ', el('bdi', {}, text), text.length < turn.text.length ? '…' : '');
}

function markOpen(scroll) {
  for (const anchor of $('g-rows').querySelectorAll('a')) {
    const open = Number(anchor.dataset.place) === choice.open;
    if (open) anchor.setAttribute('aria-current', 'true');
    else anchor.removeAttribute('aria-current');
    if (open && scroll) anchor.scrollIntoView({ block: 'nearest' });
  }
}

// Opens a conversation. `address`: whether it becomes the page's address.
async function open(place, { address = true, focus = false } = {}) {
  choice.open = place;
  markOpen(address);
  const conversation = await conversationAt(place);
  if (choice.open !== place) return;
  const view = $('g-view');
  view.replaceChildren(
    el('p', { class: 'steps' },
      el('button', { type: 'button', class: 'to-list', onclick: toList }, '‹ List'),
      el('button', { type: 'button', onclick: () => step(-1) }, 'Previous'),
      el('button', { type: 'button', onclick: () => step(1) }, 'Next')),
    conversationView(conversation, place));
  if (address) {
    document.body.classList.add('reading');
    if (location.hash !== link(conversation.id)) history.pushState(null, '', link(conversation.id));
    const top = view.getBoundingClientRect().top;
    if (top < 0 || top > innerHeight * 0.6) view.scrollIntoView({ block: 'start' });
  }
  if (focus) view.focus({ preventScroll: true });
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
  if (choice.open >= 0 && link(index.ids[choice.open]) === location.hash) return true;
  const wanted = decoded(location.hash);
  const place = index.ids.findIndex((id) => decoded(link(id)) === wanted);
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
  open(place);
  return true;
}

function decoded(hash) {
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return hash.slice(1);
  }
}
