// Names for screen readers that the theme leaves out, and wide tables that a keyboard can scroll.
const complete = () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  const unnamed = document.querySelectorAll(".md-code__nav:not([aria-label])");
  for (const nav of unnamed) nav.setAttribute("aria-label", `Code block ${nav.closest("pre").id}`);
  const lists = document.querySelectorAll("nav.md-nav[aria-labelledby]");
  lists.forEach((nav, number) => {
    const label = document.getElementById(nav.getAttribute("aria-labelledby"));
    nav.removeAttribute("aria-labelledby");
    nav.setAttribute("aria-label", `${label?.textContent.trim()} ${number + 1}`);
  });
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])"))
    table.tabIndex = 0;
};
new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
complete();
