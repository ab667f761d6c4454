package diff

// DerivedFields are the fields that a diff leaves alone, for its tests.
var DerivedFields = derivedFields
