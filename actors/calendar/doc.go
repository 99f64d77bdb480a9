// Package calendar knows when schedules are due: cron lines and intervals, in time zones
// with their changes to and from summer time. It has neither a clock nor a store.
package calendar
