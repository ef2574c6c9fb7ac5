// The table of all statements shows the rows that the boxes above it ask for.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("statement-filter");
  if (!form) return;
  const rows = [...document.querySelectorAll("#statements tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());

  function narrow() {
    const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const least = Number(form.elements.tightness.value);
    let shown = 0;
    rows.forEach((row, place) => {
      const data = row.dataset;
      const keep =
        words.every((word) => texts[place].includes(word)) &&
        (!form.elements.paper.value || data.paper === form.elements.paper.value) &&
        (!form.elements.verdict.value || data.verdict === form.elements.verdict.value) &&
        (!form.elements.erratum.checked || data.erratum === "yes") &&
        (!(least > 0) || (data.tightness !== "" && Number(data.tightness) >= least));
      row.hidden = !keep;
      shown += keep;
    });
    form.elements.count.value = `${shown} of ${rows.length} statements`;
  }

  // To set all formulas takes long: those of a row are set when it comes near.
  let set = window.MathJax?.startup?.promise;
  const near = new IntersectionObserver((entries) => {
    const seen = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target);
    seen.forEach((row) => near.unobserve(row));
    const formulas = seen.flatMap((row) => [...row.querySelectorAll(".formula")]);
    const pieces = formulas.flatMap((each) => {
      const cut = each.dataset.tex.split("<wbr>").map((piece) => {
        const span = document.createElement("span");
        span.className = "math";
        span.textContent = `\\(${piece}\\)`;
        return span;
      });
      each.className = "";
      each.replaceChildren(...cut.flatMap((span) => [document.createElement("wbr"), span]).slice(1));
      return cut;
    });
    set = set.then(() => MathJax.typesetPromise(pieces));
  }, { rootMargin: "1000px" });
  set?.then(() => rows.forEach((row) => near.observe(row)));

  form.addEventListener("input", narrow);
  form.addEventListener("submit", (event) => event.preventDefault());
  // A link to a row shows it, whatever was asked for before.
  window.addEventListener("hashchange", () => {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!row?.hidden) return;
    form.reset();
    narrow();
    row.scrollIntoView();
  });
  narrow();
});
