// Package golden checks turns in go test: recorded ones against today's code, and scripted ones
// against a file that people read.
//
//	func TestTurns(t *testing.T) {
//		golden.Replay(t, "testdata/turns", func(trace string) replay.Live {
//			return replay.Live{Config: agent(), Seams: []string{replay.Middleware, replay.Executor}}
//		})
//	}
//
//	func TestGreeting(t *testing.T) {
//		golden.Turn(t, "greeting", func() (adk.Config, adk.RawTurn) { return agent(), greeting })
//	}
//
// [Replay] runs every trace of a folder again with the agent's own code, and [ReplaySessions]
// those of sessions; what differs is one failure for each cause. Package replay records traces,
// and says what code with goroutines of its own has to leave to strands (Fork) to be the same
// each time.
//
// [Turn] runs a turn so that every run is the same, and holds its transcript against
// testdata/greeting.golden; [Session] does so for a session. The file is written by
//
//	go test ./agent -run '^TestGreeting$' -update
//
// and it is for reading: a transcript says in order what passed between the
// engine and the agent's own code, so a diff of it says what a change did. Where
// there is a file already, the environment variable ADKREPLAY_REASON has to say
// why it is changed; the reason is kept beside it, in greeting.golden.reason.
// Nothing is written by a turn that fails a check, and nothing where the
// environment variable CI is set: golden files are changed by people.
//
// Where ADKREPLAY_PENDING names a folder by its whole path, what a check finds in the place
// of what is expected is kept there, and adkreplay review --pending shows it change by
// change and accepts what somebody accepts.
//
// Where ADKREPLAY_CLAIMS names a folder, the checks write down there which files
// they used, and adkreplay stale tells which ones nobody does.
//
// The flag is goldie's, and importing this package registers it: a test binary
// with a flag -update of its own cannot import both.
//
// A trace has a checksum of its bytes, and a transcript is compared byte for byte. For git, which
// changes the ends of lines on Windows and merges texts, .gitattributes needs the lines
//
//	*.golden -text
//	*.jsonl -text
//	*.zst binary
package golden
