"""What counts of tagged sentences make believe: which state follows two others, and which states a word may be in."""
