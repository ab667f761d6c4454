package golden_test

import _ "github.com/adkreplay/adkreplay/internal/headroom" // the tests make much garbage
