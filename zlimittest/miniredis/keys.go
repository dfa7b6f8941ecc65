package miniredis

import (
	"slices"
	"time"
)

// Keys are the names of all keys, sorted.
func (db *RedisDB) Keys() []string { return sorted(words(db.must("KEYS", "*"))) }

// FlushDB removes every key.
func (db *RedisDB) FlushDB() { db.must("FLUSHDB") }

// Exists reports whether a key is there.
func (db *RedisDB) Exists(k string) bool { return db.must("EXISTS", k) == int64(1) }

// Type is "string", "zset", ... and empty where there is no key.
func (db *RedisDB) Type(k string) string {
	if name, _ := db.must("TYPE", k).(string); name != "none" {
		return name
	}
	return ""
}

// Del removes a key, and reports whether it was there.
func (db *RedisDB) Del(k string) bool { return db.must("DEL", k) == int64(1) }

// Unlink is Del.
func (db *RedisDB) Unlink(k string) bool { return db.Del(k) }

// TTL is the time a key has left; 0 where it has no deadline or is not there.
func (db *RedisDB) TTL(k string) time.Duration {
	ms, _ := db.must("PTTL", k).(int64)
	return time.Duration(max(ms, 0)) * time.Millisecond
}

// SetTTL gives a key a time to live, in whole milliseconds.
func (db *RedisDB) SetTTL(k string, ttl time.Duration) {
	if ttl <= 0 {
		db.must("PERSIST", k)
		return
	}
	db.must("PEXPIRE", k, ttl.Milliseconds())
}

// Get is a string.
func (db *RedisDB) Get(k string) (string, error) {
	if err := db.holds(k, "string"); err != nil {
		return "", err
	}
	return text(db.try("GET", k))
}

// Set makes a key a string without a deadline. A key of another type stays.
func (db *RedisDB) Set(k, v string) error {
	if err := db.mayHold(k, "string"); err != nil {
		return err
	}
	_, err := db.try("SET", k, v)
	return err
}

// Incr adds to a string that is an integer.
func (db *RedisDB) Incr(k string, delta int) (int, error) { return number(db.try("INCRBY", k, delta)) }

// Incrfloat adds to a string that is a number.
func (db *RedisDB) Incrfloat(k string, delta float64) (float64, error) {
	return float(db.try("INCRBYFLOAT", k, delta))
}

// IncrByFloat is Incrfloat.
func (m *Miniredis) IncrByFloat(k string, delta float64) (float64, error) {
	return m.Incrfloat(k, delta)
}

// holds is an error unless a key is there and of a type.
func (db *RedisDB) holds(k, kind string) error {
	switch db.Type(k) {
	case kind:
		return nil
	case "":
		return ErrKeyNotFound
	}
	return ErrWrongType
}

// mayHold is an error if a key is there and of another type.
func (db *RedisDB) mayHold(k, kind string) error {
	if t := db.Type(k); t != "" && t != kind {
		return ErrWrongType
	}
	return nil
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
