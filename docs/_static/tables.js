// A table that is wider than its page becomes small or, where that is not enough, a list: a block
// for each row, in which every cell has the name of its column beside it.
document.addEventListener("DOMContentLoaded", () => {
  const tables = [...document.querySelectorAll("article table:not(.statements)")].filter(
    (table) => table.rows[0]?.querySelector("th")
  );
  const fit = () => {
    for (const table of tables) {
      const [head, ...rows] = table.rows;
      const names = [...head.cells].map((cell) => cell.textContent.trim());
      head.classList.add("column-names");
      for (const row of rows)
        [...row.cells].forEach((cell, place) => (cell.dataset.column = names[place]));
      const { clientWidth } = table.parentElement;
      const { paddingLeft, paddingRight } = getComputedStyle(table.parentElement);
      const room = clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
      for (const looks of ["", "small", "stacked"]) {
        table.classList.remove("small", "stacked");
        if (looks) table.classList.add(looks);
        if (table.getBoundingClientRect().width <= room + 1) break;
      }
    }
  };
  fit();
  window.addEventListener("resize", fit);
  // Formulas have widths, and names of columns their signs, once they are set.
  window.addEventListener("load", () => window.MathJax?.startup?.promise?.then(fit));
});
