// Package golden checks turns in go test. It replays recorded turns with today's code, and it
// compares scripted turns with a file that people read.
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
// [Replay] replays every trace of a folder with the agent's own code, and [ReplaySessions] replays
// traces of sessions. Each cause of a difference is one failure. Package replay records traces; its
// documentation says which goroutines code has to start as strands (Fork) so that every run is the
// same.
//
// [Turn] runs a turn deterministically and compares its transcript with testdata/greeting.golden;
// [Session] does the same for a session. This command writes the file:
//
//	go test ./agent -run '^TestGreeting$' -update
//
// The file is for reading: a transcript lists in order what passed between the engine and the
// agent's own code, so a diff of it shows what a change did. If the file already exists, the
// environment variable ADKREPLAY_REASON has to say why it changes; the reason is kept in
// greeting.golden.reason, next to the file. A turn that fails a check writes nothing, and nothing
// is written if the environment variable CI is set, because golden files are changed by people.
//
// If ADKREPLAY_PENDING is the absolute path of a folder, a check keeps what it found there, in
// place of what it expected. adkreplay review --pending shows these results change by change and
// writes those that a person accepts.
//
// If ADKREPLAY_CLAIMS names a folder, the checks record there which files they used, and adkreplay
// stale lists the files that no check uses.
//
// The flag -update is goldie's, and importing this package registers it. A test binary with its own
// flag -update cannot import both.
//
// A trace has a checksum of its bytes, and a transcript is compared byte for byte. Git changes line
// ends on Windows, merges texts line by line, and leaves conflict markers in them. These lines in
// .gitattributes keep line ends as they are (-text), leave the choice between two sides of a trace
// to a person (-merge), and keep the reasons of both sides (merge=union):
//
//	*.golden -text
//	*.jsonl -text -merge
//	*.reason merge=union
//	*.zst binary
//
// After a merge in which both sides had accepted a trace, take one side of it (git checkout --ours
// or --theirs), run its test, and accept what differs.
package golden
