package persistence_test

import (
	"testing"

	"troupe/persistence"
	"troupe/persistence/storetest"
)

func TestFilesInAFolder(t *testing.T) {
	storetest.RunFiles(t, func(t *testing.T) persistence.Files {
		f, _ := openFolder(t)
		return f
	})
}

func TestFilesInMemory(t *testing.T) {
	storetest.RunFiles(t, func(*testing.T) persistence.Files { return persistence.NewMemoryFiles() })
}
