// What a reader of a page sees that is wrong, as a list of [kind, what, where].
// Evaluated in the page by site_check.py; `inside` names the part of the page to look at.
(inside) => {
  const found = [];
  const place = (element) => {
    const own = element.id ? `#${element.id}` : element.getAttribute("class") || "";
    const text = (element.textContent || element.src || "").trim().replace(/\s+/g, " ");
    return `${element.tagName.toLowerCase()} ${own}: ${text.slice(0, 60)}`;
  };
  const told = new Map(); // each box once for each kind
  const say = (kind, element, number) => {
    if (!told.has(kind)) told.set(kind, new Set());
    if (told.get(kind).has(element)) return;
    told.get(kind).add(element);
    found.push([kind, Math.round(number), place(element)]);
  };
  const styles = new Map();
  const style = (element) => {
    if (!styles.has(element)) styles.set(element, getComputedStyle(element));
    return styles.get(element);
  };
  const clips = (way) => way === "hidden" || way === "clip";
  const scrolls = (way) => way === "auto" || way === "scroll";
  const seen = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const isInline = (element) => style(element).display === "inline" || style(element).display === "contents";
  // What only a listener gets, and the mark of a heading, which shows under the pointer.
  const aside = ".headerlink, .visually-hidden, .sr-only, .skip-link, mjx-assistive-mml, svg, script, style";

  const root = document.querySelector(inside);
  const article = root.querySelector("article") || root.querySelector(".bd-main") || root;
  for (const each of root.querySelectorAll("*")) {
    if (each.closest(aside) || isInline(each) || each.clientWidth <= 1 || !seen(each)) continue;
    const { overflowX, overflowY } = style(each);
    const [wide, high] = [each.scrollWidth - each.clientWidth, each.scrollHeight - each.clientHeight];
    const field = each.matches("input, select, textarea");
    if (wide > 1 && scrolls(overflowX)) say("scrolls sideways", each, wide);
    if (wide > 1 && clips(overflowX) && !field) say("cut at the right", each, wide);
    if (high > 1 && clips(overflowY) && !field) say("cut at the bottom", each, high);
    // A page scrolls up and down; a box within its text need not.
    if (high > 0 && scrolls(overflowY) && article !== each && article.contains(each))
      say("scrolls inside the page", each, high);
  }

  // Texts, formulas and pictures that leave the box that they stand in.
  const leaves = (inner, rectangles) => {
    // A space at the end of a wrapped line of code hangs out, and nobody sees it.
    const spare = style(inner).whiteSpace === "pre-wrap" ? 10 : 1;
    for (const rectangle of rectangles) {
      if (rectangle.width === 0) continue;
      for (let up = inner; up && up !== document.body; up = up.parentElement) {
        if (isInline(up)) continue;
        if (clips(style(up).overflowX) || scrolls(style(up).overflowX)) break; // told above
        const box = up.getBoundingClientRect();
        const over = Math.max(rectangle.right - box.right, box.left - rectangle.left);
        if (over > spare) return say("leaves its box", up, over);
      }
    }
  };
  const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (texts.nextNode()) {
    const [text, parent] = [texts.currentNode, texts.currentNode.parentElement];
    if (!text.data.trim() || parent.closest(aside) || !seen(parent)) continue;
    range.selectNodeContents(text);
    leaves(parent, range.getClientRects());
  }
  for (const each of article.querySelectorAll("svg, img, video, canvas"))
    if (!each.parentElement.closest(aside) && seen(each))
      leaves(each.parentElement, [each.getBoundingClientRect()]);

  for (const each of article.querySelectorAll("img")) {
    const link = each.closest("a");
    if (seen(each) && each.naturalWidth > each.getBoundingClientRect().width + 1 && link?.href !== each.src)
      say("shrunk, and no click shows it whole", each, each.naturalWidth);
  }
  for (const each of article.querySelectorAll("mjx-container > svg")) {
    const size = (1000 * each.getBoundingClientRect().width) / each.viewBox.baseVal.width;
    if (size < 9 && seen(each)) say("too small to read", each.closest(".math") || each, size);
  }
  const sentences = article.innerText.match(
    /[^.\n]*(do not edit|[Gg]enerated (from|by|with)\b|\b0 (errata|statements|readings|of them)\b)[^.\n]*/g
  );
  for (const sentence of sentences || []) found.push(["told to maintainers", 0, sentence.trim().slice(0, 80)]);
  return found;
}
