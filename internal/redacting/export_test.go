package redacting

// What the tests of streams look at.
const MaxHeld = maxHeld

var (
	NewRedactStream = newRedactStream
	NewRedactor     = newRedactor
)
