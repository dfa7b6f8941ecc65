package miniredis

import (
	"slices"
	"time"
)

// Keys returns the names of all keys, sorted.
func (db *RedisDB) Keys() []string { return sorted(words(db.must("KEYS", "*"))) }

// FlushDB removes every key.
func (db *RedisDB) FlushDB() { db.must("FLUSHDB") }

// Exists reports whether a key exists.
func (db *RedisDB) Exists(k string) bool { return db.must("EXISTS", k) == int64(1) }

// Type returns "string", "zset", ... or an empty string if the key does not exist.
func (db *RedisDB) Type(k string) string {
	if name, _ := db.must("TYPE", k).(string); name != "none" {
		return name
	}
	return ""
}

// Del deletes a key and reports whether it existed.
func (db *RedisDB) Del(k string) bool { return db.must("DEL", k) == int64(1) }

// Unlink is Del.
func (db *RedisDB) Unlink(k string) bool { return db.Del(k) }

// TTL returns a key's remaining time, 0 if it has no deadline or does not exist.
func (db *RedisDB) TTL(k string) time.Duration {
	ms, _ := db.must("PTTL", k).(int64)
	return time.Duration(max(ms, 0)) * time.Millisecond
}

// SetTTL sets a key's time to live, in whole milliseconds.
func (db *RedisDB) SetTTL(k string, ttl time.Duration) {
	if ttl <= 0 {
		db.must("PERSIST", k)
		return
	}
	db.must("PEXPIRE", k, ttl.Milliseconds())
}

// Get returns a string key.
func (db *RedisDB) Get(k string) (string, error) {
	if err := db.requireType(k, "string"); err != nil {
		return "", err
	}
	return text(db.try("GET", k))
}

// Set sets a string without a deadline. It fails if the key has another type.
func (db *RedisDB) Set(k, v string) error {
	if err := db.allowType(k, "string"); err != nil {
		return err
	}
	_, err := db.try("SET", k, v)
	return err
}

// Incr increments an integer string.
func (db *RedisDB) Incr(k string, delta int) (int, error) { return number(db.try("INCRBY", k, delta)) }

// Incrfloat increments a numeric string.
func (db *RedisDB) Incrfloat(k string, delta float64) (float64, error) {
	return float(db.try("INCRBYFLOAT", k, delta))
}

// IncrByFloat is Incrfloat.
func (m *Miniredis) IncrByFloat(k string, delta float64) (float64, error) {
	return m.Incrfloat(k, delta)
}

// requireType returns an error unless the key exists and has the type.
func (db *RedisDB) requireType(k, kind string) error {
	switch db.Type(k) {
	case kind:
		return nil
	case "":
		return ErrKeyNotFound
	}
	return ErrWrongType
}

// allowType returns an error if the key exists with another type.
func (db *RedisDB) allowType(k, kind string) error {
	if t := db.Type(k); t != "" && t != kind {
		return ErrWrongType
	}
	return nil
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
