// Package saying writes what a scripted model says in the form of the API that it is asked
// through: Chat Completions, Messages, Responses, Gemini and Ollama, as a stream where the request
// asks for one, else whole.
//
// An Answer is what is said, and Answer.To writes it. What package modelapi reads, this one writes:
// a test holds the two against each other.
package saying
