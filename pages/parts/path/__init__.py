"""The page Words to phrases."""
