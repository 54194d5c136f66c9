//go:build !linux

package sqlite

// fileSystem knows network file systems on Linux only.
func fileSystem(string) (name string, network bool, err error) { return "", false, nil }
