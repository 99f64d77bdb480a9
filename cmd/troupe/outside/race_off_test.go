//go:build !race

package outside_test

const raceDetector = false
