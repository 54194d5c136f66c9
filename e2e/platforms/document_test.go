package platforms

import "testing"

func checkDocument(*testing.T, string, []call) {}
