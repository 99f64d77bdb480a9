package api

import "time"

// NoticeNumbers are the notices of all accounts in numbers.
type NoticeNumbers struct {
	Waiting      int
	Oldest       time.Duration // for which the notice waits that has waited longest
	EndpointsOff int           // receivers that are switched off
	// Since the process began: notices that were delivered, given up, or whose receiver
	// was switched off.
	Delivered, Failed, Off int64
}

// ScheduleNumbers are the schedules of all accounts in numbers.
type ScheduleNumbers struct {
	Active, Paused int
	Late           time.Duration // of the run that should have begun first and has not
	// Since the process began: times whose run began, at which an earlier run still went
	// on, and at which no service ran.
	Begun, Skipped, Missed int64
}
