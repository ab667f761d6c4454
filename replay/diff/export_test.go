package diff

// IsDerived reports whether a diff leaves a field alone, for its tests.
var IsDerived = isDerived
