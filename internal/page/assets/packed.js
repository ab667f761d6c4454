// ---- packed.js: what packed.go has packed, and among it all other scripts.

// unpacked is what packed.go has packed.
async function unpacked(text) {
  const bytes = bytesOf85(text);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

// bytesOf85 is what ascii85 says, in which v stands for < and w for &.
function bytesOf85(text) {
  const out = new Uint8Array(Math.ceil(text.length / 5) * 4 + 4 * (text.match(/z/g)?.length ?? 0));
  let at = 0,
    group = 0,
    length = 0;
  const flush = (bytes) => {
    for (let i = 0; i < bytes; i++) out[at++] = group >>> (24 - 8 * i);
    group = 0;
    length = 0;
  };
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code === 0x7a && length === 0) {
      flush(4);
      continue;
    } // z is four zeros
    if (code === 0x76) code = 0x3c;
    else if (code === 0x77) code = 0x26;
    if (code < 33 || code > 117) continue;
    group = (group * 85 + code - 33) >>> 0;
    if (++length === 5) flush(4);
  }
  if (length > 1) {
    const bytes = length - 1;
    while (length++ < 5) group = (group * 85 + 84) >>> 0;
    flush(bytes);
  }
  return out.subarray(0, at);
}

// contentsHeld is what the page knows of itself, beside the traces.
let contentsHeld = null;

// The style and the other scripts are elements that are made here, which the policy of the
// page lets be because it names their hashes. Browsers that know of trusted types let one
// policy make a script, and that policy is made once. The script runs when the file was read
// to its end, which may be before that of the page.
async function start() {
  document.querySelector("#main .lead").textContent = "Unpacking …"; // which nobody does without scripts
  const policy = globalThis.trustedTypes?.createPolicy("adkreplay", { createScript: (text) => text });
  const read = document.readyState === "loading" && new Promise((done) => addEventListener("DOMContentLoaded", done));
  const look = JSON.parse(await unpacked(document.getElementById("look").textContent));
  const style = document.createElement("style");
  style.textContent = look.style;
  document.head.append(style);
  await read;
  contentsHeld = await unpacked(document.getElementById("contents")?.textContent ?? "").catch(() => "");
  const script = document.createElement("script");
  script.text = policy ? policy.createScript(look.script) : look.script;
  document.body.append(script);
}

start().catch((e) => {
  document.getElementById("main").textContent = "This browser cannot unpack the page: " + e;
});
