// Package trace writes down what crossed in one run of an engine and reads it back: the trace.
//
//	recorded, err := trace.Read(file)
//	if err != nil {
//		log.Fatal(err)
//	}
//	for _, line := range recorded.Lines() {
//		if line.Kind == adk.KindCall && line.Seam.Label == adk.LabelTool {
//			fmt.Println(line.Seam, line.Args)
//		}
//	}
//
// A trace is JSON Lines: a header, a line for each crossing ([adk.Crossing]), a footer. The
// comment of [FormatVersion] describes the format.
//
//	{"adkreplay":"trace","version":5,"contract":2,"start":"2025-01-01T00:00:00Z","seams":{"executor":"model"}}
//	{"kind":"call","id":1,"seam":"run","prompt":"be brief","instructions":["no jokes"]}
//	{"kind":"turnStart","in":1,"turn":"t1"}
//
// [Read] reads a whole trace and [NewReader] one line after the other; [NewWriter] writes. Each
// takes [Options], with the bounds of what is read and the errors that people compare with.
// What is not understood is a [FormatError] with the number of its line, not a guess. A trace
// of any released version is read. Who records turns does not need this package, but
// replay.Record of package replay.
package trace
