// Package forging tells the tools that were forged for artifacts: their author is no
// user's code, and their answers are those of the body.
package forging

// meta is what the meta of a forged tool says.
const meta = "artifact.forged"

// IsForged reports whether a tool was forged, also where it was read from a trace.
func IsForged(tool interface {
	MetaAt(path string) (any, bool)
}) bool {
	is, _ := tool.MetaAt(meta)
	return is == true
}
