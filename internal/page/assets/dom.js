// ---- dom.js: elements, made of names and texts and never of markup.

// h makes an element. Of its properties, class and aria-… are attributes, on… are functions,
// and the others are set as properties. Children are elements, texts, or lists of both;
// what is null or false is left out.
function h(name, properties, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (key === "class" || key === "role" || key.startsWith("aria-") || key.startsWith("data-")) e.setAttribute(key, value);
    else e[key] = value;
  }
  put(e, children);
  return e;
}

function put(e, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) put(e, child);
    else e.append(child);
  }
}

function fill(e, ...children) {
  e.replaceChildren();
  put(e, children);
  return e;
}

// link is a link within the page. The hash is made by the page alone (app.js).
function link(hash, properties, ...children) {
  const a = h("a", properties, ...children);
  a.href = "#" + hash;
  return a;
}

// The most characters of a text that are shown at once.
const mostText = 4000,
  nextText = 200_000;

// prose is a text with its lines as they are, with escapes for what is not printable, cut
// where it is long.
function prose(text, properties = {}) {
  const e = h("div", { class: "prose", dir: "auto", ...properties });
  const show = (from, to) => {
    for (const [i, piece] of text
      .slice(from, to)
      .split(/([\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}])/u)
      .entries()) {
      if (i % 2 === 0 || piece === "\n" || piece === "\t") e.append(piece);
      else e.append(h("span", { class: "escape", title: "a character that is not printable" }, escapeOf(piece)));
    }
    if (to >= text.length) return;
    const more = h(
      "button",
      {
        class: "more",
        onclick: () => {
          more.remove();
          show(to, to + nextText);
        },
      },
      "show more of " + counted(text.length, "character"),
    );
    e.append(more);
  };
  show(0, mostText);
  return e;
}

// isolated are the parts of a text on a line: its escapes read from left to right, also where the
// text around them does not.
function isolated(text) {
  return text.split(/(\\u(?:[0-9a-f]{4}|\{[0-9a-f]+\})|\\[nrt])/).map((part, i) => (i % 2 === 0 ? part : h("bdi", { dir: "ltr" }, part)));
}

// The most of a list that is shown at once.
const mostListed = 60;

// someOf is a list of what view makes of each, with the rest behind a button.
function someOf(all, view, properties = {}) {
  return inParts(h("ul", properties), all, mostListed, view, (left) => left.toLocaleString("en"));
}

// inParts adds to a list what view makes of each, at most so many at a time: words say on a
// button how many are left.
function inParts(list, all, most, view, words) {
  const show = (from) => {
    list.append(...all.slice(from, from + most).map(view));
    const left = all.length - from - most;
    if (left <= 0) return;
    const proceed = () => {
      more.remove();
      show(from + most);
    };
    const more = h("li", {}, h("button", { class: "more", onclick: proceed }, words(left) + " more"));
    list.append(more);
  };
  show(0);
  return list;
}

// say tells a screen reader what has changed.
function say(text) {
  document.getElementById("status").textContent = text;
}
