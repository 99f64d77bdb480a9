// Package cron has schedules: it gives their tasks and batches to the queue when they are
// due, each once, whatever ends between.
package cron
