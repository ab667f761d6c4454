package mutant_test

import _ "github.com/adkreplay/adkreplay/internal/headroom" // it makes much garbage
