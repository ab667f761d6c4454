// Writes vectors.json: pairs of an input JSON text and its canonical text, as
// this ECMAScript engine writes it. Run: node vectors.mjs > vectors.json
const sorted = (v) =>
  Array.isArray(v) ? v.map(sorted)
  : v !== null && typeof v === 'object' ? new Sorted(v)
  : v

// A plain object would put integer-like keys first, whatever their order.
class Sorted {
  constructor(object) {
    this.entries = Object.keys(object).sort().map((key) => [key, sorted(object[key])])
  }
}

const text = (v) =>
  v instanceof Sorted ? '{' + v.entries.map(([k, e]) => JSON.stringify(k) + ':' + text(e)).join(',') + '}'
  : Array.isArray(v) ? '[' + v.map(text).join(',') + ']'
  : JSON.stringify(v)

const inputs = []

// Scalars, the borders of the exponent form, big and small numbers.
inputs.push('null', 'true', 'false', '""', '0', '-0', '-0.0', '[-0]', '1', '-1', '1.0', '0.1', '1e2', '1E+2')
for (let e = -8; e <= 23; e++) {
  for (const digits of ['1', '9.999999999999999', '1.5', '-1.234567890123']) inputs.push(`${digits}e${e}`)
}
inputs.push('4.9e-324', '5e-324', '1.7976931348623157e308', '2.2250738585072014e-308', '-1e-7', '1e-6', '9.99e-7',
  '999999999999999900000', '1000000000000000000000', '9007199254740991', '9007199254740992', '9007199254740993',
  '18446744073709551615', '9223372036854775807', '-9223372036854775808', '333333333.33333329', '1e23', '1e-100', '1e100')

// Every ASCII character and some beyond, escaped and raw.
for (let c = 0; c < 0x80; c++) inputs.push(`"\\u${c.toString(16).padStart(4, '0')}"`)
inputs.push('"\\u2028\\u2029"', '"<script>&amp;</script>"', '"\\/"', '"\\u20ac"', '"\\ud83d\\ude00"', '"é € 😀 \u007f"', '"\\ufffd"', '"\\ufeff"')

// Key order: by UTF-16 code units, where U+1F600 comes before U+FB33.
inputs.push('{"b":1,"a":2}', '{"10":1,"9":2,"1":3}', '{"\\ufb33":1,"\\ud83d\\ude00":2,"\\u20ac":3,"1":4,"\\r":5,"\\u0080":6,"\\u00f6":7}',
  '{"\\uffff":1,"\\ud800\\udc00":2,"\\ue000":3,"\\ud7ff":4,"\\udbff\\udfff":5}',
  '{"a\\ud83d\\ude00":1,"a\\uff5e":2,"a":3,"":4,"aa":5,"A":6}', '{"__proto__x":1,"constructor":2}')

// Nesting.
inputs.push('{}', '[]', '[[],{},[{}]]', '{"z":{"y":{"x":[{"b":1,"a":[3,2,1]}]}},"a":null}', ' { "a" : [ 1 , 2 ] } ')
inputs.push('['.repeat(200) + ']'.repeat(200), '{"b":{},"a":'.repeat(100) + '1' + '}'.repeat(100))

// Doubles of random bits, from a fixed seed.
let state = 0x9e3779b9
const random = () => {
  state ^= state << 13; state ^= state >>> 17; state ^= state << 5
  return state >>> 0
}
const view = new DataView(new ArrayBuffer(8))
for (let i = 0; i < 400; ) {
  view.setUint32(0, random()); view.setUint32(4, random())
  const d = view.getFloat64(0)
  if (!Number.isFinite(d)) continue
  inputs.push(d.toExponential(20)); i++
}
for (let i = 0; i < 100; i++) inputs.push(String((random() - 2 ** 31) / 2 ** (random() % 40)))

const vectors = inputs.map((input) => ({ input, want: text(sorted(JSON.parse(input))) }))
console.log('[\n' + vectors.map((v) => JSON.stringify(v)).join(',\n') + '\n]')
