package jsontree

// ParseJSON5 parses JSON5 (json5.org) as Parse does strict JSON. Strict has to agree with it.
// Infinities and NaN are float64.
func ParseJSON5(text string, maxDepth int) (any, error) {
	return (&reader{text: text, maxDepth: maxDepth, loose: true}).whole()
}
