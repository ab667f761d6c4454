// Package cassette reads recordings of model providers that other tools have made, and traces, so
// that fakes.NewProvider and fakes.NewTransport can serve them.
//
//	recording, err := cassette.Open("testdata/weather.yaml")
//	provider := fakes.NewTransport(recording.Conversation)
//
// [Read] recognises the form of a recording by its content:
//
//   - go-vcr (all versions), VCR.py, and VCR, whose form betamax uses too: YAML or JSON with
//     interactions
//   - httprr: "httprr trace v1", then requests and responses as they went over the wire
//   - HAR: what browsers and proxies save
//   - the JSON of fakes.ReadConversation
//
// Each of them may also be compressed by gzip. [ReadBatch] joins the two files of an OpenAI batch,
// [ReadTrace] takes the exchanges over HTTP from a trace, and [WriteTrace] makes a trace of a
// conversation.
//
// Bodies are stored without the compression that they had on the wire. Headers and URL parameters
// that hold secrets are left out and counted. Anything that is not a recorded interaction, or that
// a trace does not hold, is an error that names its place. The exception is a HAR: requests without
// an answer, WebSockets, and exchanges whose bodies the HAR does not hold are left out and listed.
package cassette
