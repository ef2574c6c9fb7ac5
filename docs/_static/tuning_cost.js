// The picture of what tuning costs: two sliders move four curves. Its numbers stand in the page.
document.addEventListener("DOMContentLoaded", () => {
  const figure = document.getElementById("tuning-cost");
  if (!figure) return;
  const table = JSON.parse(figure.querySelector("script").textContent);
  const svg = figure.querySelector("svg");
  const noise = figure.querySelector('[name="noise"]');
  const mean = figure.querySelector('[name="mean"]');
  const names = ["renyi", "profile", "envelope", "single"];
  const box = { left: 52, right: 612, top: 12, bottom: 318 };
  const [least, most] = [0.05, 50];

  const across = (runs) => box.left + ((box.right - box.left) * Math.log10(runs)) / 3;
  const up = (epsilon) =>
    box.bottom - ((box.bottom - box.top) * Math.log(epsilon / least)) / Math.log(most / least);

  function add(kind, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    svg.append(made);
    return made;
  }

  for (const epsilon of [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]) {
    const y = up(epsilon);
    add("line", { class: "grid", x1: box.left, x2: box.right, y1: y, y2: y });
    add("text", { x: box.left - 8, y: y + 4, "text-anchor": "end" }, epsilon);
  }
  for (const runs of [1, 10, 100, 1000]) {
    const x = across(runs);
    add("line", { class: "grid", x1: x, x2: x, y1: box.top, y2: box.bottom });
    add("text", { x, y: box.bottom + 18, "text-anchor": "middle" }, runs);
  }
  add("text", { x: 332, y: 370, "text-anchor": "middle" }, "runs on average, E[K]");
  add("text", { x: 12, y: 165, "text-anchor": "middle", transform: "rotate(-90 12 165)" }, "epsilon");
  const here = add("line", { class: "here", y1: box.top, y2: box.bottom });
  const lines = Object.fromEntries(names.map((name) => [name, add("path", { class: name })]));
  const dots = Object.fromEntries(names.map((name) => [name, add("circle", { class: name, r: 5 })]));

  function draw() {
    const [row, column] = [Number(noise.value), Number(mean.value)];
    const [sigma, runs] = [table.noises[row], table.means[column]];
    for (const name of names) {
      const values = name === "single" ? table.means.map(() => table.single[row]) : table[name][row];
      const points = values.map((value, place) => `${across(table.means[place])},${up(value)}`);
      lines[name].setAttribute("d", `M${points.join("L")}`);
      dots[name].setAttribute("cx", across(runs));
      dots[name].setAttribute("cy", up(values[column]));
      figure.querySelector(`output[name="${name}"]`).value = values[column];
    }
    here.setAttribute("x1", across(runs));
    here.setAttribute("x2", across(runs));
    noise.setAttribute("aria-valuetext", sigma);
    mean.setAttribute("aria-valuetext", runs);
    figure.querySelector(".tuning-cost-sentence").textContent =
      `With noise multiplier ${sigma}, one run is (${table.single[row]}, 1e-6)-private, and the ` +
      `best of K runs, ${runs} on average, (${table.envelope[row][column]}, 1e-6)-private.`;
  }

  noise.addEventListener("input", draw);
  mean.addEventListener("input", draw);
  draw();
});
