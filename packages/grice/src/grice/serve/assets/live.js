"use strict";
const WAIT = 200;
const [LOW, HIGH] = [0.3, 0.6];
const NAMED = /^([^\s:][^:]{0,39}):\s+(.*)$|^([^\s:][^:]{0,39}):$/;
const at = (id) => document.getElementById(id);
let asked = null, timer = 0;

function element(name, content = "", kind = "") {
  const made = document.createElement(name);
  made.textContent = content;
  if (kind) made.className = kind;
  return made;
}

// What is typed as a request: JSON as it is, lines as turns; a line without a name goes on with the turn before it.
function request(text) {
  if (/^\s*[[{]/.test(text)) {
    const value = JSON.parse(text);
    if (!Array.isArray(value)) return value;
    return value.some((item) => item && item.role !== undefined) ? { messages: value } : { turns: value };
  }
  const lines = text.split("\n").filter((line) => line.trim());
  const parts = lines.map((line) => NAMED.exec(line.trim()));
  if (!parts.some(Boolean)) return { turns: lines.map((line, place) => ({ speaker: "AB"[place % 2], text: line })) };
  const turns = [];
  parts.forEach((part, place) => {
    if (part) turns.push({ speaker: part[1] || part[3], text: part[2] || "" });
    else if (turns.length) turns[turns.length - 1].text += "\n" + lines[place];
    else turns.push({ speaker: "A", text: lines[place] });
  });
  return { turns };
}

function spoken(body) {
  return (body.messages || body.turns || []).map((turn, place) => {
    if (typeof turn === "string") return { place, speaker: "", text: turn };
    const text = turn.text ?? turn.content ?? "";
    return { place, speaker: String(turn.speaker ?? turn.role ?? ""), text: typeof text === "string" ? text : JSON.stringify(text) };
  });
}

function say(text, bad = false) {
  at("state").textContent = text;
  at("state").classList.toggle("bad", bad);
}

function spans(piece) {
  if (piece.kind === "triple") return [piece.triple.head_span, piece.triple.tail_span].filter(Boolean);
  return piece.span ? [piece.span] : [];
}

// A score outside 0 to 1 is a quantity, such as a number of words.
const isScore = (score) => score.status === "ok" && score.value >= 0 && score.value <= 1;

function valueText({ status, value }) {
  if (status !== "ok") return "–";
  return isScore({ status, value }) ? value.toFixed(2) : String(Number(value.toPrecision(3)));
}

// Offsets count characters, not the halves of which JavaScript makes some.
function quoted(turns, span) {
  return Array.from(turns[span.turn]?.text ?? "").slice(span.start, span.end).join("");
}

function described(piece, turns) {
  if (piece.kind === "turn") return `turn ${piece.turn}, “${turns[piece.turn]?.text.slice(0, 60) ?? ""}”: ${signed(piece.effect)}`;
  if (piece.kind === "triple") return `${piece.triple.head} · ${piece.triple.relation} · ${piece.triple.tail}: plausible ${piece.plausibility.toFixed(2)}`;
  const words = piece.span ? `, “${quoted(turns, piece.span)}”` : "";
  const effect = piece.effect == null ? "" : ` (${signed(piece.effect)})`;
  return `${piece.name}${words}: ${Number(piece.value.toPrecision(3))}${effect}`;
}

const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);

function scoreView(score, turns, mark) {
  const box = element("details");
  const line = element("summary");
  line.append(element("span", score.metric, "name"));
  const meter = element("meter");
  meter.value = isScore(score) ? score.value : 0;
  // Below low a meter is red, below high yellow, and above green.
  [meter.low, meter.high, meter.optimum] = [LOW, HIGH, 1];
  meter.classList.toggle("none", !isScore(score));
  meter.setAttribute("aria-hidden", "true");
  line.append(meter, element("span", valueText(score), isScore(score) && score.value < LOW ? "low" : ""));
  line.append(element("span", score.status === "ok" ? score.reason ?? "" : `${score.status}: ${score.reason ?? ""}`, "reason"));
  const list = element("ul");
  for (const piece of score.evidence) list.append(element("li", described(piece, turns)));
  if (!score.evidence.length) list.append(element("li", "no further evidence"));
  box.append(line, list);
  box.addEventListener("toggle", mark);
  box.evidence = score.evidence;
  box.dataset.of = `${score.turn} ${score.metric}`;
  return box;
}

// A flaw that a rule finds, with its code; its words are marked in the turns.
function findingView(finding) {
  const line = element("p", "", "finding");
  line.append(element("b", finding.code), element("span", ` ${finding.message}`));
  line.classList.add(finding.severity ?? "error");
  return line;
}

function marked(place, turn, stretches) {
  const letters = Array.from(turn.text);
  const lit = letters.map((_, index) => stretches.some((span) => span.start <= index && index < span.end));
  place.replaceChildren(element("span", `${turn.place} `, "quiet"), element("b", turn.speaker ? turn.speaker + ": " : ""));
  for (let start = 0; start < letters.length; ) {
    let end = start + 1;
    while (end < letters.length && lit[end] === lit[start]) end += 1;
    place.append(element(lit[start] ? "mark" : "span", letters.slice(start, end).join("")));
    start = end;
  }
}

function show(turns, scores, findings) {
  const opened = new Set([...document.querySelectorAll("details[open]")].map((box) => box.dataset.of));
  const texts = turns.map((turn) => {
    const said = element("p", "", "said");
    return said;
  });
  const found = findings.flatMap((finding) => finding.spans ?? []);
  const mark = () => texts.forEach((text, turn) => {
    const all = [...document.querySelectorAll("details[open]")].flatMap((open) => open.evidence ?? []);
    marked(text, turns[turn], [...found, ...all.flatMap(spans)].filter((span) => span.turn === turn));
  });
  mark();
  const rows = texts.map((text) => {
    const row = element("li");
    row.append(text);
    return row;
  });
  for (const finding of findings) rows[finding.turn]?.append(findingView(finding));
  at("whole").replaceChildren();
  for (const score of scores) {
    const box = scoreView(score, turns, mark);
    (score.turn === null ? at("whole") : rows[score.turn])?.append(box);
    box.open = opened.has(box.dataset.of);
  }
  at("turns").replaceChildren(...rows);
}

async function score() {
  const text = at("chat").value;
  asked?.abort();
  if (!text.trim()) { show([], [], []); say(""); return; }
  let body;
  try {
    body = request(text);
  } catch (error) {
    say("This is not JSON yet: " + error.message);
    return;
  }
  const mine = (asked = new AbortController());
  const headers = { "Content-Type": "application/json" };
  if (at("key").value) headers.Authorization = "Bearer " + at("key").value;
  try {
    const began = performance.now();
    const answer = await fetch("score", { method: "POST", headers, body: JSON.stringify(body), signal: mine.signal });
    const found = await answer.json();
    if (answer.status === 401) at("asks-key").hidden = false;
    if (!answer.ok) {
      say(`${found.error.where}: ${found.error.what}. ${found.error.do ?? ""}`, true);
      if (answer.status === 429) later(1000 * Number(answer.headers.get("Retry-After") || 1));
      return;
    }
    show(spoken(body), found.scores, found.findings);
    const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
    const time = Math.round(performance.now() - began);
    say(`${count(found.findings.length, "finding")}, ${count(found.scores.length, "score")} in ${time} ms`);
  } catch (error) {
    if (error.name !== "AbortError") say("The service does not respond: " + error.message, true);
  }
}

function later(wait = WAIT) {
  clearTimeout(timer);
  timer = setTimeout(score, wait);
}

at("chat").addEventListener("input", () => later());
at("key").addEventListener("input", () => later());
if (location.hash) at("chat").value = decodeURIComponent(location.hash.slice(1));
score();
