package agent

import (
	"time"

	"github.com/adkreplay/adkreplay/adk/chat"
)

// Model is how a model is asked by the protocol of Chat Completions: where it is, up to
// the version (https://api.openai.com/v1, say), the secret that it is asked with, which
// no trace has, and its name.
//
// The executor that is made of it streams what the model says, runs the tools that it
// wants, and asks a busy one again. All that it asks and is answered is part of a trace,
// and in a replay the answers come from there.
func Model(url, key, name string) chat.Options {
	return chat.Options{
		BaseURL: url, APIKey: key, Model: name,
		Temperature:       new(0.2),
		Retry:             chat.Retry{MaxAttempts: new(3)},
		RequestTimeout:    new(time.Minute),
		StreamIdleTimeout: new(time.Minute),
	}
}
