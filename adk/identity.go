package adk

import "github.com/adkreplay/adkreplay/adk/internal/fields"

// Identity says who speaks, for two readers (PRM-2): the application finds the participant by the
// identifier, and a model reads the representation. The zero Identity stands for a record's default
// identity.
type Identity struct {
	identifier     any // string or int64
	representation *Tokenizable
}

// NewIdentity makes an identity from an identifier, which is a non-empty string or an integer of
// any type, and a non-empty representation. Anything else is E_INVALID_INITIAL_IDENTITY_VALUE.
func NewIdentity(identifier any, representation string) (Identity, error) {
	var c fieldCheck
	key, err := fields.TextOrInteger(identifier)
	if err != nil {
		c.Fault("identifier", "%v", err)
	} else if name, ok := key.(string); ok {
		c.Required("identifier", name, "a text or an integer")
	}
	c.Required("representation", representation, "the name that a model reads")
	if err := c.err(E_INVALID_INITIAL_IDENTITY_VALUE); err != nil {
		return Identity{}, err
	}
	return Identity{identifier: key, representation: NewTokenizable(representation)}, nil
}

// IdentityOf makes an identity that uses one name for both. An empty name gives the zero Identity.
func IdentityOf(name string) Identity {
	if name == "" {
		return Identity{}
	}
	return Identity{identifier: name, representation: NewTokenizable(name)}
}

// identity returns the default identity of a record with this role. Each known role has one
// identity that all records share.
func (r Role) identity() Identity {
	switch r {
	case RoleUser:
		return theUser
	case RoleAssistant:
		return theAssistant
	}
	return IdentityOf(string(r))
}

var theUser, theAssistant = IdentityOf(string(RoleUser)), IdentityOf(string(RoleAssistant))

// IsZero reports whether this is the zero Identity.
func (i Identity) IsZero() bool { return i.representation == nil }

// Identifier returns what the application finds the participant by: a string or an int64, or nil
// for the zero Identity.
func (i Identity) Identifier() any { return i.identifier }

// Representation returns what a model reads, or nil for the zero Identity.
func (i Identity) Representation() *Tokenizable { return i.representation }

// MarshalJSON returns {"identifier": …, "representation": …}, or null for the zero Identity.
func (i Identity) MarshalJSON() ([]byte, error) { return i.appendJSON(nil), nil }

func (i Identity) appendJSON(dst []byte) []byte {
	if i.IsZero() {
		return append(dst, "null"...)
	}
	j := openRecord(dst)
	j.Field("identifier")
	j.Out = fields.AppendTextOrInteger(j.Out, i.identifier)
	j.Text("representation", i.representation.String())
	return j.Close()
}

func (i Identity) equal(other Identity) bool {
	if i.IsZero() || other.IsZero() {
		return i.IsZero() == other.IsZero()
	}
	return i.identifier == other.identifier && i.representation.String() == other.representation.String()
}

// identity checks an identity and returns it, or usual if it is the zero Identity.
func (c *fieldCheck) identity(given, usual Identity) Identity {
	if given.IsZero() {
		return usual
	}
	// IdentityOf accepts any text, so the text is checked here.
	if name, ok := given.identifier.(string); ok {
		c.Optional("identity.identifier", name)
	}
	c.Optional("identity.representation", given.representation.String())
	return given
}
