package jsontree

// ParseJSON5 reads JSON5 (json5.org) as Parse does strict JSON, which Strict has to agree with.
// Infinities and NaN are float64.
func ParseJSON5(text string, maxDepth int) (any, error) {
	return (&reader{text: text, maxDepth: maxDepth, loose: true}).whole()
}
