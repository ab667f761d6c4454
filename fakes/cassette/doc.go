// Package cassette reads the recordings that others have made of providers, and traces, so
// that fakes.Provider and fakes.NewTransport can serve them.
//
//	recording, err := cassette.Open("testdata/weather.yaml")
//	provider := fakes.NewTransport(recording.Conversation)
//
// [Read] knows a recording by what it begins with:
//
//   - go-vcr, of all its versions, VCR.py, and VCR, whose form betamax has too: YAML or JSON
//     with interactions
//   - httprr: "httprr trace v1", then requests and responses as they went over the wire
//   - HAR: what browsers and proxies save
//   - the JSON of fakes.ReadConversation
//
// each of them also compressed by gzip. [ReadBatch] joins the two files of a batch of
// OpenAI's, [ReadTrace] takes what a trace holds of exchanges over HTTP, and [WriteTrace]
// makes a trace of a conversation.
//
// Bodies come as they were, out of whatever compressed them on the wire. Headers, and
// parameters of URLs, that hold secrets are left out and counted. What is no recorded
// interaction, and what a trace does not hold, is refused with its place; the requests of a
// HAR that nobody answered, its WebSockets, and what it has not kept the bodies of, are left
// out and told.
package cassette
