// Package trace writes a trace, the record of every crossing of one run of an engine, and reads it
// back.
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
// A trace is JSON Lines: a header, one line per crossing ([adk.Crossing]) and a footer. The comment
// of [FormatVersion] describes the format.
//
//	{"adkreplay":"trace","version":5,"contract":2,"start":"2025-01-01T00:00:00Z","seams":{"executor":"model"}}
//	{"kind":"call","id":1,"seam":"run","prompt":"be brief","instructions":["no jokes"]}
//	{"kind":"turnStart","in":1,"turn":"t1"}
//
// [Read] reads a whole trace, [NewReader] reads it line by line, and [NewWriter] writes one. Each
// takes [Options], which set the limits of reading and name the error values and error types to
// restore. A line that the reader does not understand is a [FormatError] with the line's number,
// never a guess. Traces of every released version can be read. To record turns, use replay.Record
// of package replay instead of this package.
package trace
