package outside_test

import "troupe/engine"

// hasSnapshot says whether tools can show the page as a tree of roles and names.
var hasSnapshot = engine.HasAction("snapshot")
