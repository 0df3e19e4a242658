//! How large an aggregate may become.
