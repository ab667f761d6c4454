// ---- align.js: what two sequences have in common, and what differs between two texts.

// The most cells of a table in which two sequences are aligned; beyond, all between their
// equal ends differs.
const mostCells = 4_000_000;

// aligned are the pairs [i, j] of equal members of two lists, in order: their longest common
// subsequence.
function aligned(a, b) {
  let begin = 0,
    endA = a.length,
    endB = b.length;
  const pairs = [],
    behind = [];
  while (begin < endA && begin < endB && a[begin] === b[begin]) pairs.push([begin, begin++]);
  while (endA > begin && endB > begin && a[endA - 1] === b[endB - 1]) behind.push([--endA, --endB]);
  const rows = endA - begin,
    columns = endB - begin;
  if (rows && columns && rows * columns <= mostCells) {
    const width = columns + 1,
      table = new Uint32Array((rows + 1) * width);
    for (let i = rows - 1; i >= 0; i--) {
      for (let j = columns - 1; j >= 0; j--) {
        table[i * width + j] =
          a[begin + i] === b[begin + j]
            ? table[(i + 1) * width + j + 1] + 1
            : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
      }
    }
    for (let i = 0, j = 0; i < rows && j < columns;) {
      if (a[begin + i] === b[begin + j]) pairs.push([begin + i++, begin + j++]);
      else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i++;
      else j++;
    }
  }
  return pairs.concat(behind.reverse());
}

// wordsOf are the words of a text and what stands between them: together they are the text.
const wordsOf = (text) => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];

// differing splits two texts into pieces [text, isEqual], so that the pieces of each are the
// text.
function differing(was, now) {
  const a = wordsOf(was),
    b = wordsOf(now),
    left = [],
    right = [];
  const add = (to, text, same) => {
    if (!text) return;
    const last = to.at(-1);
    if (last && last[1] === same) last[0] += text;
    else to.push([text, same]);
  };
  let i = 0,
    j = 0;
  for (const [x, y] of [...aligned(a, b), [a.length, b.length]]) {
    add(left, a.slice(i, x).join(""), false);
    add(right, b.slice(j, y).join(""), false);
    if (x < a.length) {
      add(left, a[x], true);
      add(right, b[y], true);
    }
    i = x + 1;
    j = y + 1;
  }
  return [left, right];
}
