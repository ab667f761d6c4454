// ---- values.js: values, records, errors and results in full.

// The most members that are shown at once, and how deep values are shown open.
const mostMembers = 100,
  openDepth = 2,
  deepestValue = 48;

// plainView shows plain data, as it stands in a stash, and the JSON that it holds as what it is,
// unless that has a number that JavaScript would round.
function plainView(value, depth = 0) {
  const held = heldJSON(value);
  if (held === null) return valueView(value, depth, true);
  return /\d{16}/.test(held) ? prose(held) : valueView(JSON.parse(held), depth);
}

// valueView shows JSON: lists and objects can be folded, long texts are cut.
function valueView(value, depth = 0, isPlain = false) {
  if (typeof value === "string")
    return value.length > 80 || value.includes("\n") ? prose(value) : h("span", { class: "text", dir: "auto" }, "“" + onLine(value) + "”");
  if (typeof value !== "object" || value === null) return h("span", { class: "atom" }, String(value));
  const names = Object.keys(value),
    isList = Array.isArray(value);
  if (!names.length) return h("span", { class: "atom" }, isList ? "[]" : "{}");
  const isFlat = names.length <= 4 && names.every((name) => typeof value[name] !== "object" || value[name] === null),
    line = isFlat ? compact(value, 90, isPlain) : "";
  if (isFlat && !line.endsWith("…")) return h("code", { class: "flat", dir: "auto" }, line);
  if (depth > deepestValue) return h("span", { class: "atom" }, "… deeper than is shown");
  const list = h("ul", { class: "tree" });
  const view = (name) => (isPlain && !isMark(name) ? plainView : valueView)(value[name], depth + 1);
  const member = (name) => h("li", {}, h("span", { class: "member" }, isList ? name : short(name, 80)), " ", view(name));
  const details = h(
    "details",
    { class: "fold" },
    h(
      "summary",
      {},
      h("span", { class: "gist" }, compact(value, 80, isPlain)),
      h("span", { class: "size" }, counted(names.length, isList ? "element" : "member")),
    ),
    list,
  );
  let made = false;
  const make = () => {
    if (!made && details.open) {
      made = true;
      inParts(list, names, mostMembers, member, (left) => counted(left, "member"));
    }
  };
  details.addEventListener("toggle", make);
  details.open = depth < openDepth && names.length <= 20;
  make();
  return details;
}

// recordView shows a record: what it says, and its other members below.
function recordView(trace, ref) {
  const r = trace.recordOf(ref);
  if (!r) return valueView(ref);
  if (typeof r.value === "string") return prose(r.value);
  const { content, role, ...rest } = r.value;
  return h(
    "div",
    { class: "record" },
    h(
      "p",
      { class: "of" },
      h("span", { class: "tag" }, onLine(textOf(role) || r.kind)),
      " ",
      h("span", { class: "faint" }, short(textOf(keyOf(r)), 80)),
    ),
    content !== undefined && prose(textOf(content)),
    valueView(rest),
  );
}

// resolved is an event whose references to records are those records. Other data may have the
// form of a reference, and is none.
function resolved(trace, value, depth = 0) {
  if (typeof value !== "object" || value === null || depth > 3) return value;
  const r = "#" in value && Object.keys(value).length === 1 ? trace.recordOf(value) : undefined;
  if (r) return r.value;
  if (Array.isArray(value)) return value.length > 1000 ? value : value.map((one) => resolved(trace, one, depth + 1));
  const copy = Object.create(null);
  for (const name of Object.keys(value)) copy[name] = resolved(trace, value[name], depth + 1);
  return copy;
}

function resultView(trace, result) {
  if (!isObject(result)) return valueView(result);
  if (result.text !== undefined) return prose(textOf(result.text));
  if (result.media !== undefined) return recordView(trace, result.media);
  if (Array.isArray(result.mediaList))
    return h(
      "div",
      {},
      result.mediaList.map((one) => recordView(trace, one)),
    );
  return valueView(result);
}

// errorView shows an error with all its causes.
function errorView(e, depth = 0) {
  if (!isObject(e) || depth > deepestValue) return h("div", { class: "err" }, prose(textOf(e)));
  const causes = [...(e.cause ? [e.cause] : []), ...(Array.isArray(e.causes) ? e.causes : [])];
  const says = e.message ?? e.text ?? e.panic ?? e.sentinel ?? e.cut;
  return h(
    "div",
    { class: isStop(e) ? "" : "err" },
    h(
      "p",
      {},
      e.code && h("span", { class: isStop(e) ? "tag" : "tag bad" }, onLine(textOf(e.code))),
      e.panic !== undefined && h("span", { class: "tag bad" }, "panic"),
      e.sentinel !== undefined && h("span", { class: "tag" }, "value"),
      e.stage && h("span", { class: "faint" }, " in " + onLine(textOf(e.stage)) + (e.name ? "/" + onLine(textOf(e.name)) : "")),
    ),
    says !== undefined && prose(textOf(says)),
    Array.isArray(e.faults) &&
      h(
        "ul",
        { class: "faults" },
        e.faults
          .slice(0, mostMembers)
          .map((f) =>
            h(
              "li",
              {},
              h("code", {}, onLine(textOf(f.path)) || "/"),
              " ",
              h("span", { class: "tag" }, onLine(textOf(f.keyword))),
              " ",
              short(textOf(f.message), 400),
            ),
          ),
      ),
    causes.map((cause) => h("div", { class: "cause" }, h("p", { class: "faint" }, "caused by"), errorView(cause, depth + 1))),
  );
}

// fieldView shows a field of a crossing by what it is. A record that an earlier crossing said
// in full is on a line, which opens.
function fieldView(trace, field, value, seq) {
  switch (field) {
    case "Record":
      return trace.recordOf(value)?.seq < seq ? foldedRecord(trace, value) : recordView(trace, value);
    case "Records":
      return h(
        "ol",
        { class: "records" },
        value.slice(0, mostMembers).map((one) => h("li", {}, foldedRecord(trace, one))),
        value.length > mostMembers && h("li", {}, "… " + counted(value.length - mostMembers, "record") + " more"),
      );
    case "Result":
      return resultView(trace, value);
    case "Err":
    case "Cause":
      return errorView(value);
    case "Args":
      return valueView(argsOf(value));
    case "Value":
      return plainView(value);
    case "Text":
      return prose(textOf(value));
    case "Texts":
      return h(
        "ul",
        { class: "texts" },
        value.slice(0, mostMembers).map((one) => h("li", {}, prose(textOf(one)))),
      );
    case "Name":
    case "Key":
    case "Seam":
    case "Collection":
    case "Outcome":
    case "Status":
    case "Digest":
      return h("code", { class: "name" }, short(textOf(value), 400));
  }
  return valueView(field === "Payload" ? resolved(trace, value) : value);
}

// foldedRecord is a record on a line, which opens.
function foldedRecord(trace, ref) {
  const details = h("details", { class: "fold" }, h("summary", {}, h("span", { class: "gist" }, recordText(trace, ref))));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(recordView(trace, ref));
  });
  return details;
}
