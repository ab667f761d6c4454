package diff

// IsDerived reports whether a diff ignores a field; exported for the tests.
var IsDerived = isDerived
