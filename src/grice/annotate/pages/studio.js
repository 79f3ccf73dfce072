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
  if (input.type === "checkbox") input.click();
  else { input.checked = true; input.dispatchEvent(new Event("change", { bubbles: true })); }
  const next = groups[groups.indexOf(group) + 1];
  const target = input.type === "radio" && next && next.querySelector("input");
  (target || input).focus();
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
