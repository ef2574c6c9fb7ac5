// A table that is wider than its page becomes a list: a block for each row, in which every cell
// has the name of its column beside it.
document.addEventListener("DOMContentLoaded", () => {
  const tables = [...document.querySelectorAll("article table:not(.statements)")].filter(
    (table) => table.tHead
  );
  for (const table of tables) {
    const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
    for (const body of table.tBodies)
      for (const row of body.rows)
        [...row.cells].forEach((cell, place) => (cell.dataset.column = names[place]));
  }
  const fit = () => {
    for (const table of tables) {
      table.classList.remove("stacked");
      const room = table.parentElement.getBoundingClientRect().width;
      table.classList.toggle("stacked", table.getBoundingClientRect().width > room + 1);
    }
  };
  fit();
  window.addEventListener("resize", fit);
  // Formulas have widths once they are set.
  window.addEventListener("load", () => window.MathJax?.startup?.promise?.then(fit));
});
