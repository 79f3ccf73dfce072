"use strict";
// Everything works without this script, but for marking spans; it adds keys and previews.

const form = document.getElementById("answer");

function isTyping(target) {
  return target.matches("textarea, select, input[type=text]");
}

/** Choose by key in the question that is being answered, and go on to the next one. */
function choose(key) {
  const groups = [...form.querySelectorAll("fieldset")];
  const focused = document.activeElement.closest("fieldset");
  const unanswered = groups.find((group) => group.querySelector("[type=radio]") && !group.querySelector(":checked"));
  const group = focused || unanswered || groups[0];
  const input = [group, form].filter(Boolean)
    .map((place) => place.querySelector(`[data-key="${CSS.escape(key)}"]`)).find(Boolean);
  if (!input) return false;
  if (input.type !== "radio") input.click();
  else { input.checked = true; input.dispatchEvent(new Event("change", { bubbles: true })); }
  const next = groups[groups.indexOf(group) + 1];
  const target = input.type === "radio" && next && next.querySelector("input");
  if (input.type !== "button") (target || input).focus();
  return true;
}

if (form) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Enter" && !event.target.matches("a, button, summary, textarea")) {
      event.preventDefault();
      form.requestSubmit();
    } else if (!isTyping(event.target) && event.key.length === 1 && choose(event.key.toLowerCase())) {
      event.preventDefault();
    }
  });
  form.addEventListener("submit", () => {
    for (const button of form.querySelectorAll("button[type=submit]")) button.disabled = true;
  });
  addEventListener("pageshow", () => {  // a browser that goes back shows the page as it was left
    for (const button of form.querySelectorAll("button[type=submit]")) button.disabled = false;
  });
  for (const button of form.querySelectorAll("[data-more]")) {
    button.addEventListener("click", () => {
      const row = button.closest("fieldset").querySelector(".tuple[hidden]");
      if (row) { row.hidden = false; row.querySelector("input").focus(); } else button.disabled = true;
    });
  }
  for (const box of form.querySelectorAll("[name=issue]")) {
    box.addEventListener("change", () => {
      if (!box.checked) return;
      for (const other of form.querySelectorAll("[name=issue]")) {
        if (other !== box && (other.value === "none" || box.value === "none")) other.checked = false;
      }
    });
  }
}

/** Mark spans of a dialogue and draw relations between them; places count characters, not units. */
const dialogue = document.getElementById("dialogue");
if (form && dialogue) {
  const text = dialogue.textContent;
  const field = document.getElementById("links-field");
  const list = document.getElementById("links");
  const says = document.getElementById("marking-says");
  const relation = document.getElementById("relation");
  const places = {};
  const characters = (units) => Array.from(text.slice(0, units)).length;
  const words = ([start, end]) => Array.from(text).slice(start, end).join("");

  const selected = () => {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    if (!dialogue.contains(range.startContainer) || !dialogue.contains(range.endContainer)) return null;
    const before = document.createRange();
    before.setStart(dialogue, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const found = range.toString();
    const start = before.toString().length + found.length - found.trimStart().length;
    return found.trim() ? [characters(start), characters(start + found.trim().length)] : null;
  };
  const show = () => {
    const links = JSON.parse(field.value || "[]");
    list.replaceChildren(...links.map((link, place) => {
      const row = document.createElement("li");
      const label = document.createElement("span");
      label.textContent = `${words(link.head)} · ${link.relation} · ${words(link.tail)}`;
      const remove = document.createElement("button");
      remove.type = "button";
      remove.textContent = "Remove";
      remove.addEventListener("click", () => { links.splice(place, 1); field.value = JSON.stringify(links); show(); });
      row.append(label, remove);
      return row;
    }));
  };
  for (const button of form.querySelectorAll("[data-mark]")) {
    // The selection would be lost where a button takes the focus.
    button.addEventListener("pointerdown", (event) => event.preventDefault());
    button.addEventListener("click", () => {
      const place = selected();
      if (!place) { says.textContent = "Select words of the dialogue first."; return; }
      places[button.dataset.mark] = place;
      button.querySelector(".marked").textContent = words(place);
      says.textContent = "";
    });
  }
  document.getElementById("add").addEventListener("click", () => {
    if (!places.head || !places.tail) { says.textContent = "Mark a head and a tail first."; return; }
    const links = JSON.parse(field.value || "[]");
    links.push({ head: places.head, relation: relation.value, tail: places.tail });
    field.value = JSON.stringify(links);
    for (const button of form.querySelectorAll("[data-mark]")) {
      delete places[button.dataset.mark];
      button.querySelector(".marked").textContent = "";
    }
    show();
  });
  show();
}

/** Show what the service says of an answer while it is written. */
const preview = document.getElementById("preview");
if (form && preview && form.dataset.live !== undefined) {
  let timer = 0;
  const ask = async () => {
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch(preview.dataset.preview, { method: "POST", body });
    if (answer.ok) preview.innerHTML = await answer.text();
  };
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 250); });
  ask();
}
